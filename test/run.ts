/** `npm test`: runs every test file, or with arguments the files whose path contains one of them. */
import { glob } from 'node:fs/promises'
import { dirname, join, relative, sep } from 'node:path'
import { commandOptions } from '../tools/command-options.ts'
import { startPostgres } from './support/postgres.ts'
import { runTestFiles } from './support/test-run.ts'

const folder = import.meta.dirname
const root = dirname(folder)
const { values, operands: positionals } = commandOptions({
  command: 'npm test',
  about: 'Runs every test file, or the files whose path contains one of the words: npm test -- lists rules/secret',
  options: {
    limit: {
      kind: 'integer',
      least: 1,
      default: 600,
      about: 'Seconds without a test that begins or ends, after which a file is stopped.',
    },
  },
  operands: '[part of a path …]',
})
const nameOf = (file: string): string => relative(root, file).replaceAll(sep, '/')

const files: string[] = []
// The tests of a cluster run with `npm run citus`.
for await (const name of glob('**/*.test.ts', { cwd: folder, exclude: ['cluster/**'] })) files.push(join(folder, name))
files.sort()
const chosen =
  positionals.length === 0 ? files : files.filter((file) => positionals.some((part) => nameOf(file).includes(part)))

// Every file and every service runs in its own process, which would otherwise strip and compile all of src again.
process.env['NODE_COMPILE_CACHE'] ??= join(root, 'node_modules', '.cache', 'compile')

const stop = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => stop.abort())

// All files share one server, where each test has its own database. The rules need no database.
const needsPostgres = chosen.some((file) => !nameOf(file).startsWith('test/rules/'))
const postgres = needsPostgres && (process.env['TROUPE_TEST_POSTGRES'] ?? '') === '' ? await startPostgres() : null
if (postgres !== null) process.env['TROUPE_TEST_POSTGRES'] = postgres.url

// The counts are the last line of a run.
if (positionals.length === 0)
  console.log('npm run citus is another lane: it needs a Citus cluster, and counts nothing.')

const { failed } = await runTestFiles(chosen, {
  concurrency: 2,
  limitSeconds: values.limit,
  print: (line) => console.log(line),
  everyArea: positionals.length === 0,
  nameOf,
  signal: stop.signal,
})
await postgres?.remove()
process.exitCode = failed === 0 ? 0 : 1
