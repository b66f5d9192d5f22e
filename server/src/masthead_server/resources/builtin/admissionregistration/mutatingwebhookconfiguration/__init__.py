"""MutatingWebhookConfigurations."""
