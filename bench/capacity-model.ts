/** The capacity model: what a number of actors needs, from measured costs and assumed habits. */

/** Measured costs of one store. Bytes in the database include indexes and free space. */
export interface Costs {
  readonly store: 'SQLite' | 'PostgreSQL'
  readonly bytes: {
    readonly actor: number
    /** A value of 200 bytes. */
    readonly property: number
    /** A list without the rows of its items. */
    readonly list: number
    /** An item of 90 bytes. */
    readonly item: number
    /** A relationship, with the data about the peer. */
    readonly trust: number
    readonly subscription: number
    /** A diff that waits for the subscriber, with its entry in the history of deliveries. */
    readonly diff: number
    /** A delivered diff, which the subscriber has not acknowledged. */
    readonly delivered: number
    readonly session: number
    readonly auditEntry: number
  }
  /** Processor time in microseconds: of the process of the service, and of all processes of the database server. */
  readonly service: Work
  readonly database: Work
  /** Bytes that one change writes to the log of the database. */
  readonly logPerChange: number
  /** Pages that the first reads of an actor load: a property and a list. */
  readonly pages: number
  readonly pageBytes: number
  readonly process: {
    readonly idleBytes: number
    readonly loadedBytes: number
    /** Open connections at the end of a load with 16 clients. */
    readonly connections: number
  }
}

interface Work {
  readonly read: number
  readonly change: number
  /** The share of one subscriber in a change: its diff, its callback and the outcome. */
  readonly callback: number
}

/** Data of one actor. */
export interface Profile {
  readonly properties: number
  readonly lists: number
  readonly items: number
  readonly trusts: number
  readonly subscriptions: number
  readonly waitingDiffs: number
  readonly deliveredDiffs: number
  readonly sessions: number
  readonly auditEntries: number
}

/** Assumed habits and limits. */
export interface Assumptions {
  readonly profile: Profile
  /** Share of the actors that are used on one day. */
  readonly activeShare: number
  /** Requests of a used actor on that day, and the share of them that are changes. */
  readonly requestsPerDay: number
  readonly changeShare: number
  /** Subscribers of one change. */
  readonly subscribers: number
  /** Requests in the busiest second, in relation to the average. */
  readonly peak: number
  /** Highest planned load of a processor. */
  readonly utilization: number
  /** The most connections of a process: `TROUPE_WORKERS` for changes, and two for reads. */
  readonly connections: number
  /** Disk space in relation to the data: free space, log and temporary files. */
  readonly diskFactor: number
  /** A database server. */
  readonly server: { readonly processors: number; readonly memoryBytes: number; readonly diskBytes: number }
}

export const assumptions: Assumptions = {
  profile: {
    properties: 20,
    lists: 1,
    items: 100,
    trusts: 5,
    subscriptions: 2,
    waitingDiffs: 5,
    deliveredDiffs: 60,
    sessions: 1,
    auditEntries: 100,
  },
  activeShare: 0.1,
  requestsPerDay: 50,
  changeShare: 0.2,
  subscribers: 2,
  peak: 5,
  utilization: 0.6,
  connections: 12,
  diskFactor: 1.5,
  server: { processors: 16, memoryBytes: 128e9, diskBytes: 4e12 },
}

export interface Needs {
  readonly actors: number
  readonly bytesPerActor: number
  readonly diskBytes: number
  /** Memory that keeps the pages of one day's actors in the cache of the database. */
  readonly memoryBytes: number
  /** Requests per second at the peak, and the log of the database at that moment. */
  readonly requests: number
  readonly logBytes: number
  /** Processors at the planned load. */
  readonly serviceProcessors: number
  readonly databaseProcessors: number
  /** Processes of the service, at least two on PostgreSQL. SQLite has one. */
  readonly processes: number
  readonly processBytes: number
  readonly connections: number
  /** Database servers, each with a part of the shards. */
  readonly servers: number
}

export function bytesOfActor({ bytes }: Costs, profile: Profile): number {
  return (
    bytes.actor +
    profile.properties * bytes.property +
    profile.lists * bytes.list +
    profile.items * bytes.item +
    profile.trusts * bytes.trust +
    profile.subscriptions * bytes.subscription +
    profile.waitingDiffs * bytes.diff +
    profile.deliveredDiffs * bytes.delivered +
    profile.sessions * bytes.session +
    profile.auditEntries * bytes.auditEntry
  )
}

export function needsOf(costs: Costs, actors: number, assumed: Assumptions): Needs {
  const bytesPerActor = bytesOfActor(costs, assumed.profile)
  const dataBytes = actors * bytesPerActor
  const active = actors * assumed.activeShare
  const requests = ((active * assumed.requestsPerDay) / 86_400) * assumed.peak
  const changes = requests * assumed.changeShare
  const processors = ({ read, change, callback }: Work): number =>
    ((requests - changes) * read + changes * (change + assumed.subscribers * callback)) / 1e6 / assumed.utilization
  const serviceProcessors = processors(costs.service)
  const databaseProcessors = processors(costs.database)
  const memoryBytes = Math.min(dataBytes, active * costs.pages * costs.pageBytes)
  const diskBytes = dataBytes * assumed.diskFactor
  const processes = costs.store === 'SQLite' ? 1 : Math.max(2, Math.ceil(serviceProcessors))
  const { server } = assumed
  return {
    actors,
    bytesPerActor,
    diskBytes,
    memoryBytes,
    requests,
    logBytes: changes * costs.logPerChange,
    serviceProcessors,
    databaseProcessors,
    processes,
    processBytes: processes * costs.process.loadedBytes,
    connections: costs.store === 'SQLite' ? 0 : processes * assumed.connections,
    servers:
      costs.store === 'SQLite'
        ? 0
        : Math.ceil(
            Math.max(
              databaseProcessors / server.processors,
              memoryBytes / server.memoryBytes,
              diskBytes / server.diskBytes,
            ),
          ),
  }
}
