/**
 * `npm run bench`: measures every hot path and its bound in one run on one machine. Only the ratios are comparable between
 * runs and machines.
 */
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { cpus, tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { generateKey } from '../src/secret/key-ring.ts'
import { type Command, type CommandOption, commandOptions, refuseOptions } from '../tools/command-options.ts'
import { createPostgresDatabase } from '../test/support/stores.ts'
import { startPostgres } from '../test/support/postgres.ts'
import { buildService } from './build-service.ts'
import { type MeasuredCapacity, measureCapacity } from './capacity.ts'
import { capacityTables } from './capacity-report.ts'
import { measureClients } from './clients.ts'
import { measureColdStart } from './cold-start.ts'
import { measureDeclared } from './declared.ts'
import { measureHistory } from './history.ts'
import { measureDelivery } from './delivery.ts'
import { measureFiles } from './files.ts'
import { measureJobs } from './jobs.ts'
import { measureLargeList } from './large-list.ts'
import { measureLists } from './lists.ts'
import { measurePages } from './pages.ts'
import { replaceSection, type SectionName, sections } from './page.ts'
import { measurePaint } from './paint.ts'
import { measurePinned } from './pinned.ts'
import { canPin, startLoader } from './process.ts'
import { measureReload } from './reload.ts'
import { type Line, tableOf } from './report.ts'
import { measureRequests } from './requests.ts'
import { measureScale } from './scale.ts'
import type { Subject } from './subject.ts'

const command = {
  command: 'npm run bench',
  about: 'Measures every hot path and its bound, in one run on one machine.',
  options: {
    quick: { kind: 'flag', about: 'Shorter slices and less data, such as 100,000 actors instead of a million.' },
    write: {
      kind: 'flag',
      about: 'Also writes the measured sections of docs/benchmarks.md, or for capacity of docs/scaling.md.',
    },
    only: {
      kind: 'choice',
      choices: [
        'start',
        'requests',
        'clients',
        'pages',
        'lists',
        'files',
        'declared',
        'history',
        'scale',
        'delivery',
        'jobs',
        'large-list',
        'capacity',
      ],
      about: 'Runs one part only. large-list and capacity run only with this option.',
    },
    pinned: {
      kind: 'flag',
      about: 'Measures requests with 16 connections, the server and the load on one processor each.',
    },
    base: {
      kind: 'text',
      about: 'Like --pinned, also beside the service of the checkout in this folder, which has its node_modules.',
    },
  },
} as const satisfies Command<Record<string, CommandOption>>
const { values: flags } = commandOptions(command)
const isPinned = flags.pinned || flags.base !== undefined
if (isPinned && flags.only !== undefined && flags.only !== 'requests')
  refuseOptions(command, `Invalid --only "${flags.only}": --pinned and --base measure requests only.`)
const base = flags.base === undefined ? undefined : resolve(flags.base)
if (base !== undefined && !['src/troupe.ts', 'node_modules'].every((path) => existsSync(join(base, path))))
  refuseOptions(
    command,
    `Invalid --base ${JSON.stringify(flags.base)}: expected a folder with src/troupe.ts and node_modules.`,
  )
if (base !== undefined && flags.write)
  refuseOptions(command, 'Invalid --write: docs/benchmarks.md has no lines beside another checkout.')
const slices = flags.quick
  ? { rounds: 3, milliseconds: 700, connections: 32 }
  : { rounds: 5, milliseconds: 2000, connections: 32 }
const actors = flags.quick ? 100_000 : 1_000_000
const amounts = flags.quick
  ? { writes: 40, calls: 20_000, foreign: 10_000, backlog: 10_000 }
  : { writes: 200, calls: 20_000, foreign: 100_000, backlog: 100_000 }

const jobAmounts = flags.quick ? { alarms: 2000, messages: 5000 } : { alarms: 10_000, messages: 20_000 }

const listItems = flags.quick ? 500_000 : 5_256_000

const folder = mkdtempSync(join(tmpdir(), 'troupe-bench-'))
const keys = generateKey()
const file = (name: string): Subject => ({
  database: `sqlite:${join(folder, `${name}.db`)}`,
  keys,
})
const loader = startLoader()
const postgres = await startPostgres({ fsync: true })
let files = 0
const newFile = async (): Promise<Subject> => file(`numbered-${++files}`)
const measured = new Map<SectionName, Line[]>()
const onPostgres = async (): Promise<Subject> => ({
  database: (await createPostgresDatabase(postgres.url)).url,
  keys,
})
const add = (section: SectionName, lines: readonly Line[]): void => {
  measured.set(section, [...(measured.get(section) ?? []), ...lines])
  for (const line of lines) process.stderr.write(`${line.store}: ${line.what}\n`)
}

const builds = new Map<string, string>()
/** Builds the service of a checkout once, and returns its folder. */
const build = async (root: string): Promise<string> => {
  const built = builds.get(root) ?? join(folder, `built-${builds.size}`)
  if (!builds.has(root)) await buildService(root, built)
  builds.set(root, built)
  return built
}
const measureOnOneProcessor = async (store: string, database: () => Promise<Subject>): Promise<readonly Line[]> =>
  measurePinned(
    loader,
    {
      store,
      service: { folder: await build(dirname(import.meta.dirname)), subject: await database() },
      base: base === undefined ? null : { folder: await build(base), subject: await database() },
    },
    { ...slices, connections: 16 },
  )

const parts: readonly (readonly [section: SectionName, measure: () => Promise<readonly Line[]>])[] = [
  ['start', async () => measureColdStart(join(folder, 'installed'), 7)],
  // Uses the installed archive of the part before.
  ['start', async () => [await measureReload(join(folder, 'installed'), 7)]],
  ['requests', async () => measureRequests('SQLite', file('requests'), loader, slices)],
  ['clients', async () => measureClients('SQLite', file('clients'), loader, slices)],
  ['clients', async () => measureClients('PostgreSQL', await onPostgres(), loader, slices)],
  ['pages', async () => measurePages('SQLite', file('pages'), loader, slices)],
  ['pages', async () => measurePaint('SQLite', file('paint'))],
  ['lists', async () => measureLists('SQLite', file('lists'), loader, slices)],
  ['files', async () => measureFiles('SQLite', file('files'), loader, slices)],
  ['declared', async () => measureDeclared('SQLite', file('declared'), loader, slices)],
  ['declared', async () => measureDeclared('PostgreSQL', await onPostgres(), loader, slices)],
  ['history', async () => measureHistory('SQLite', newFile, loader, slices)],
  ['history', async () => measureHistory('PostgreSQL', onPostgres, loader, slices)],
  ['scale', async () => measureScale(file('few'), file('many'), actors, loader, slices)],
  ['requests', async () => measureRequests('PostgreSQL', await onPostgres(), loader, slices)],
  ['lists', async () => measureLists('PostgreSQL', await onPostgres(), loader, slices)],
  ['delivery', async () => measureDelivery('SQLite', newFile, amounts)],
  ['delivery', async () => measureDelivery('PostgreSQL', onPostgres, amounts)],
  ['jobs', async () => measureJobs('SQLite', newFile, jobAmounts)],
  ['jobs', async () => measureJobs('PostgreSQL', onPostgres, jobAmounts)],
  ['pinned', async () => measureOnOneProcessor('SQLite', newFile)],
  ['pinned', async () => measureOnOneProcessor('PostgreSQL', onPostgres)],
  ['large-list', async () => measureLargeList('SQLite', file('large-list'), listItems)],
  ['large-list', async () => measureLargeList('PostgreSQL', await onPostgres(), listItems)],
]

const measureCapacityOf = async (
  store: 'SQLite' | 'PostgreSQL',
  database: () => Promise<Subject>,
): Promise<MeasuredCapacity> =>
  measureCapacity(loader, {
    store,
    database,
    folder: await build(dirname(import.meta.dirname)),
    restart: async () => {
      await postgres.stop('fast')
      await postgres.start()
    },
    actors: flags.quick ? 200 : 1000,
    slices: { ...slices, connections: 16 },
  })

const chosen = isPinned ? 'pinned' : flags.only
/** Parts that run only on request. */
const onRequest: readonly SectionName[] = ['pinned', 'large-list', 'capacity']
if (isPinned && !canPin())
  process.stderr.write('Not pinned: this system has no taskset or only one processor, so servers and load share it.\n')
const tables = new Map<SectionName, string>()
try {
  for (const [section, measure] of parts) {
    if (chosen === section || (chosen === undefined && !onRequest.includes(section))) add(section, await measure())
  }
  for (const [section, lines] of measured) tables.set(section, tableOf(lines))
  if (chosen === 'capacity')
    tables.set(
      chosen,
      capacityTables([await measureCapacityOf('SQLite', newFile), await measureCapacityOf('PostgreSQL', onPostgres)]),
    )
} finally {
  loader.stop()
  await postgres.remove()
  rmSync(folder, { recursive: true, force: true })
}

const about = `Node.js ${process.versions.node}, SQLite ${process.versions['sqlite'] ?? ''}, ${cpus().length} × ${cpus()[0]?.model.trim() ?? 'CPU'}`
process.stdout.write(`\n${about}\n`)
for (const [name, table] of tables) {
  const section = sections[name]
  process.stdout.write(`\n${section.heading}\n\n${table}\n`)
  if (!flags.write) continue
  const page = new URL(`../docs/${section.page}`, import.meta.url)
  writeFileSync(page, replaceSection(readFileSync(page, 'utf8'), section, `${about}\n\n${table}`))
}
