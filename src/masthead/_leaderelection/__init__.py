"""Leader election by Leases: campaigns, renews, runs work while leading, and ends it before another may lead.

| module | contents |
|---|---|
| `own_clock` | the clock by which leases are judged |
| `lease_lock` | reads, creates and updates the Lease; records from and to its spec |
| `failures` | explanations and delays after failed requests |
| `callbacks` | calls users' functions, isolated and in order |
| `leadership` | the work's view of its term: validity, and the fencing token |
| `candidate` | attempts to acquire, to renew and to release |
| `election_options` | options of an elector, as one value |
| `elector` | campaigns, terms and the renew deadline, for both façades |
| `leader_elector` | `masthead.aio.LeaderElector` |

The decisions are made in `masthead._sansio.leases`.
"""
