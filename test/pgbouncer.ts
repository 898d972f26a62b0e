/** `npm run pgbouncer`: runs the tests of the PostgreSQL store through a connection pooler that is already running. */
import { readFileSync } from 'node:fs'
import { glob } from 'node:fs/promises'
import { dirname, join, relative, sep } from 'node:path'
import { commandOptions, refuseOptions } from '../tools/command-options.ts'
import { openStore } from '../src/open-store.ts'
import { createPostgresDatabase } from './support/stores.ts'
import { runTestFiles } from './support/test-run.ts'

const folder = import.meta.dirname
const command = {
  command: 'npm run pgbouncer',
  about:
    'Runs the contracts and stories on PostgreSQL through a connection pooler, or the files whose path contains one of the words.',
  options: {
    url: {
      kind: 'text',
      about:
        'The pooler, with the parameter of its mode: postgres://postgres@127.0.0.1:6432/?pooler=unprepared. It must serve every database of the server.',
    },
    server: {
      kind: 'text',
      about:
        'The server behind the pooler, for a user who may create databases: postgres://postgres@127.0.0.1/postgres.',
    },
    limit: {
      kind: 'integer',
      least: 1,
      default: 600,
      about: 'Seconds without a test that begins or ends, after which a file is stopped.',
    },
  },
  operands: '[part of a path …]',
} as const
const { values, operands } = commandOptions(command)
if (values.url === undefined || values.server === undefined)
  refuseOptions(command, 'Missing option: expected --url and --server.')
else {
  process.env['TROUPE_TEST_POOLER'] = values.url
  process.env['TROUPE_TEST_POSTGRES'] = values.server
}

await requireRefusals(values.url)

/** Checks that a start through the pooler fails without the parameter, and says which parameter to add. */
async function requireRefusals(url: string): Promise<void> {
  const database = await createPostgresDatabase(process.env['TROUPE_TEST_POSTGRES'] ?? '')
  const bare = new URL(database.url)
  bare.searchParams.delete('pooler')
  const refused = await openStore({ url: bare.href }).then(
    async (store) => {
      await store.close()
      return 'The start without the parameter was not refused: is this a pooler?'
    },
    (error: unknown) => String(error),
  )
  console.log(`Without the parameter of ${new URL(url).host}: ${refused}`)
  if (!refused.includes('add ?pooler=')) process.exit(1)
  await database.remove()
}

const nameOf = (file: string): string => relative(dirname(folder), file).replaceAll(sep, '/')
const parts = operands.length === 0 ? ['test/contracts/', 'test/stories/'] : operands
const files = (await Array.fromAsync(glob('**/*.test.ts', { cwd: folder })))
  .map((name) => join(folder, name))
  .filter((file) => parts.some((part) => nameOf(file).includes(part)))
  .filter((file) => /forEachStore|forEachService|'postgres'/.test(readFileSync(file, 'utf8')))
  .sort()
const { failed } = await runTestFiles(files, {
  processorLimit: Infinity,
  concurrency: 2,
  limitSeconds: values.limit,
  print: (line) => console.log(line),
  everyArea: false,
  nameOf,
})
process.exitCode = failed === 0 ? 0 : 1
