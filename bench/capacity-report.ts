/** The section of `docs/scaling.md` about capacity. */
import type { MeasuredCapacity } from './capacity.ts'
import { type Assumptions, assumptions, type Costs, needsOf } from './capacity-model.ts'
import { micros } from './report.ts'

const counts = [1_000_000, 10_000_000, 100_000_000]

const costRows: readonly (readonly [what: string, of: (costs: Costs) => string])[] = [
  ['an actor without data', ({ bytes }) => size(bytes.actor)],
  ['a property of 200 bytes', ({ bytes }) => size(bytes.property)],
  ['a list without its items', ({ bytes }) => size(bytes.list)],
  ['a list item of 90 bytes', ({ bytes }) => size(bytes.item)],
  ['a relationship, with the data about the peer', ({ bytes }) => size(bytes.trust)],
  ['a subscription of a peer', ({ bytes }) => size(bytes.subscription)],
  ['a diff of 200 bytes that waits', ({ bytes }) => size(bytes.diff)],
  ['a delivered diff, until its acknowledgment or for 30 days', ({ bytes }) => size(bytes.delivered)],
  ['a session', ({ bytes }) => size(bytes.session)],
  ['an entry of the audit log, for 90 days', ({ bytes }) => size(bytes.auditEntry)],
  ['a read: processor time of the service', ({ service }) => micros(service.read)],
  ['a read: processor time of the database server', ({ store, database }) => onServer(store, database.read)],
  ['a change: processor time of the service', ({ service }) => micros(service.change)],
  ['a change: processor time of the database server', ({ store, database }) => onServer(store, database.change)],
  ['a change: bytes in the log of the database', ({ logPerChange }) => size(logPerChange)],
  ['a subscriber of a change: processor time of the service', ({ service }) => micros(service.callback)],
  [
    'a subscriber of a change: processor time of the database server',
    ({ store, database }) => onServer(store, database.callback),
  ],
  [
    'pages of the database for a property and a list of one actor',
    ({ pages, pageBytes }) => `${pages.toFixed(1)} of ${size(pageBytes)}`,
  ],
  ['a process at its start: memory', ({ process }) => size(process.idleBytes)],
  ['a process after load: memory', ({ process }) => size(process.loadedBytes)],
  [
    'a process under load: connections',
    ({ store, process }) => (store === 'SQLite' ? '' : String(process.connections)),
  ],
]

/** Returns the tables of the section. */
export function capacityTables(measured: readonly MeasuredCapacity[], assumed: Assumptions = assumptions): string {
  const costs = measured.map((each) => each.costs)
  const stores = costs.map(({ store }) => store)
  const needs = counts.flatMap((actors) => costs.map((of) => ({ store: of.store, ...needsOf(of, actors, assumed) })))
  const column = (of: (need: (typeof needs)[number]) => string): string[] => needs.map(of)
  return [
    '### Costs',
    tableOfRows(
      ['cost', ...stores],
      [
        ...costRows.map(([what, of]) => [what, ...costs.map(of)]),
        [
          'check: bytes of other data, predicted and stored',
          ...measured.map(
            ({ predictedBytes, storedBytes }) =>
              `${size(predictedBytes)}, ${size(storedBytes)} (${(predictedBytes / storedBytes).toFixed(2)})`,
          ),
        ],
      ],
    ),
    '### Needs',
    tableOfRows(
      ['need', ...column(({ store, actors }) => `${actors / 1_000_000} M, ${store}`)],
      [
        ['data of an actor', ...column((need) => size(need.bytesPerActor))],
        ['disk', ...column((need) => size(need.diskBytes))],
        ['memory for pages', ...column((need) => size(need.memoryBytes))],
        ['requests a second', ...column((need) => Math.round(need.requests).toLocaleString('en'))],
        ['log a second', ...column((need) => size(need.logBytes))],
        ['processors, service', ...column((need) => need.serviceProcessors.toFixed(1))],
        [
          'processors, database',
          ...column((need) => (need.store === 'SQLite' ? '' : need.databaseProcessors.toFixed(1))),
        ],
        ['processes', ...column(processesOf)],
        ['memory of the processes', ...column((need) => size(need.processBytes))],
        ['connections', ...column((need) => (need.store === 'SQLite' ? '' : String(need.connections)))],
        ['database servers', ...column((need) => (need.store === 'SQLite' ? '' : String(need.servers)))],
      ],
    ),
  ].join('\n\n')
}

/** SQLite has one process, which uses about one processor. */
function processesOf({ store, processes, serviceProcessors }: ReturnType<typeof needsOf> & { store: string }): string {
  return store === 'SQLite' && serviceProcessors > 1 ? '1 is too few' : String(processes)
}

function onServer(store: Costs['store'], micro: number): string {
  return store === 'SQLite' ? '' : micros(micro)
}

/** Formats bytes with three digits, in powers of 1,000. */
export function size(bytes: number): string {
  let value = bytes
  const units = ['B', 'kB', 'MB', 'GB', 'TB', 'PB']
  while (value >= 999.5 && units.length > 1) {
    value /= 1000
    units.shift()
  }
  const digits = units[0] === 'B' || value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2
  return `${value.toFixed(digits)} ${units[0]}`
}

function tableOfRows(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n')
}
