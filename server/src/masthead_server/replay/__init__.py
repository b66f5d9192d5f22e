"""Replays recordings: a server begins with a recorded state, and plays the changes after it.

From the bottom up: ``timeline`` (which change is due when, with which version), ``merging`` (a change on an object that
others have written, too), ``definitions`` (kinds without a recorded definition), ``player`` (changes become writes),
``initial_state`` (the store of a moment), ``playback`` (when), ``replay`` (the controls).
"""
