"""Leader election by Leases: campaigns, renews, runs work while leading, and ends it before another may lead.

| module | contents |
|---|---|
| `own_clock` | the clock by which leases are judged |
| `lease_lock` | reads, creates and updates the Lease; records from and to its spec |
| `failures` | what a failed request means, and what to do about it |
| `callbacks` | calls users' functions, isolated and in order |
| `leadership` | what the work is given: validity, and the fencing token |
| `candidate` | tries to acquire, to renew and to release |
| `term` | a time of leading: renews, and notices when it is over |
| `elections` | campaigns and terms, for both façades |
| `elector` | `masthead.aio.LeaderElector` |

The decisions are made in `masthead._sansio.leases`.
"""
