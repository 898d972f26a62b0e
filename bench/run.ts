/**
 * `npm run bench`: measures every hot path and its bound in one run on one machine. Only the ratios are comparable between
 * runs and machines.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { cpus, tmpdir } from 'node:os'
import { join } from 'node:path'
import { generateKey } from '../src/secret/key-ring.ts'
import { commandOptions } from '../tools/command-options.ts'
import { createPostgresDatabase } from '../test/support/stores.ts'
import { startPostgres } from '../test/support/postgres.ts'
import { measureClients } from './clients.ts'
import { measureColdStart } from './cold-start.ts'
import { measureDelivery } from './delivery.ts'
import { measureLargeList } from './large-list.ts'
import { measureLists } from './lists.ts'
import { measurePages } from './pages.ts'
import { startLoader } from './process.ts'
import { type Line, tableOf } from './report.ts'
import { measureRequests } from './requests.ts'
import { measureScale } from './scale.ts'

const { values: flags } = commandOptions({
  command: 'npm run bench',
  about: 'Measures every hot path and its bound, in one run on one machine.',
  options: {
    quick: { kind: 'flag', about: 'Shorter slices, and 100,000 actors instead of a million.' },
    write: { kind: 'flag', about: 'Also writes docs/benchmarks.md.' },
    only: {
      kind: 'choice',
      choices: ['start', 'requests', 'clients', 'pages', 'lists', 'scale', 'delivery', 'large-list'],
      about: 'Runs one part only. large-list runs only with this option.',
    },
  },
})
const slices = flags.quick
  ? { rounds: 3, milliseconds: 700, connections: 32 }
  : { rounds: 5, milliseconds: 2000, connections: 32 }
const actors = flags.quick ? 100_000 : 1_000_000
const amounts = flags.quick
  ? { writes: 40, calls: 20_000, foreign: 10_000, backlog: 10_000 }
  : { writes: 200, calls: 20_000, foreign: 100_000, backlog: 100_000 }

/** Part that runs only on request, because it takes long. It checks bounds instead of ratios. */
const onRequest = 'large-list'
const ratiosIntroduction = `# Benchmarks

\`npm run bench -- --write\` writes this page. Each line and its comparison are measured in the same run. Only the ratios are
comparable between runs and machines. The bare server is \`bench/server-bare.ts\`: plain \`node:http\`, with the same passphrase
check and a direct call of the same store function. CPU is the server's processor time for one request. List operations run one
after the other, and each waits for its commit. The other lines use 32 connections.
`
const largeListHeading = '## One list of 5,256,000 items\n'
const largeListIntroduction = `
\`npm run bench -- --only large-list --write\` writes this section. The bounds are 50 ms for a pause of the event loop and
64 MiB of memory beyond idle ([decision 030](decisions/030-long-lists-are-read-in-pages.md)). The first figure is the longest
pause that other work would notice. It includes the time in which other processes had the processor. The second figure is the
processor time of the thread itself in one pause, and the bound applies to it. Only the first figure includes disk waits.
`
const listItems = flags.quick ? 500_000 : 5_256_000

const folder = mkdtempSync(join(tmpdir(), 'troupe-bench-'))
const keys = generateKey()
const file = (name: string): { database: string; keys: string } => ({
  database: `sqlite:${join(folder, `${name}.db`)}`,
  keys,
})
const loader = startLoader()
const postgres = await startPostgres({ fsync: true })
let files = 0
const lines: Line[] = []
const onPostgres = async (): Promise<{ database: string; keys: string }> => ({
  database: (await createPostgresDatabase(postgres.url)).url,
  keys,
})
const add = (measured: readonly Line[]): void => {
  lines.push(...measured)
  for (const line of measured) process.stderr.write(`${line.store}: ${line.what}\n`)
}

const parts: readonly (readonly [name: string, measure: () => Promise<readonly Line[]>])[] = [
  ['start', async () => [await measureColdStart(5)]],
  ['requests', async () => measureRequests('SQLite', file('requests'), loader, slices)],
  ['clients', async () => measureClients('SQLite', file('clients'), loader, slices)],
  ['clients', async () => measureClients('PostgreSQL', await onPostgres(), loader, slices)],
  ['pages', async () => measurePages('SQLite', file('pages'), loader, slices)],
  ['lists', async () => measureLists('SQLite', file('lists'), loader, slices)],
  ['scale', async () => measureScale(file('few'), file('many'), actors, loader, slices)],
  ['requests', async () => measureRequests('PostgreSQL', await onPostgres(), loader, slices)],
  ['lists', async () => measureLists('PostgreSQL', await onPostgres(), loader, slices)],
  ['delivery', async () => measureDelivery('SQLite', async () => file(`delivery-${++files}`), amounts)],
  ['delivery', async () => measureDelivery('PostgreSQL', onPostgres, amounts)],
  [onRequest, async () => measureLargeList('SQLite', file('large-list'), listItems)],
  [onRequest, async () => measureLargeList('PostgreSQL', await onPostgres(), listItems)],
]

try {
  for (const [name, measure] of parts) {
    if (flags.only === name || (flags.only === undefined && name !== onRequest)) add(await measure())
  }
} finally {
  loader.stop()
  await postgres.remove()
  rmSync(folder, { recursive: true, force: true })
}

const about = `Node.js ${process.versions.node}, SQLite ${process.versions['sqlite'] ?? ''}, ${cpus().length} × ${cpus()[0]?.model.trim() ?? 'CPU'}`
const table = tableOf(lines)
process.stdout.write(`\n${about}\n\n${table}\n`)
if (flags.write) {
  const file = new URL('../docs/benchmarks.md', import.meta.url)
  const [ratios = '', largeList = ''] = readFileSync(file, 'utf8').split(largeListHeading)
  writeFileSync(
    file,
    flags.only === onRequest
      ? `${ratios}${largeListHeading}${largeListIntroduction}\n${about}\n\n${table}\n`
      : `${ratiosIntroduction}\n${about}\n\n${table}\n\n${largeListHeading}${largeList}`,
  )
}
