/** `npm test`: runs every test file, or with arguments the files whose path contains one of them. */
import { globSync } from 'node:fs'
import { glob } from 'node:fs/promises'
import { availableParallelism } from 'node:os'
import { dirname, join, relative, sep } from 'node:path'
import { commandOptions } from '../tools/command-options.ts'
import { joinFiles } from './support/joined-files.ts'
import { startPostgres } from './support/postgres.ts'
import { runTestFiles } from './support/test-run.ts'
import { withChangedFiles, workingTree } from './support/working-tree.ts'

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

const tree = workingTree(root)
const stop = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => stop.abort())

// All files share one server, where each test has its own database. The rules need no database.
const needsPostgres = chosen.some((file) => !nameOf(file).startsWith('test/rules/'))
const postgres = needsPostgres && (process.env['TROUPE_TEST_POSTGRES'] ?? '') === '' ? await startPostgres() : null
if (postgres !== null) process.env['TROUPE_TEST_POSTGRES'] = postgres.url

// The counts are the last line of a run.
if (positionals.length === 0)
  console.log('npm run citus is another lane: it needs a Citus cluster, and counts nothing.')

// Programs that tests start load these files by their paths.
const programs = ['src/*.ts', 'src/cli/main.ts', 'test/support/*-app.ts', 'test/support/limited-process.ts']
const joined = await joinFiles(root, [...chosen, ...globSync(programs, { cwd: root }).map((name) => join(root, name))])
const totals = await runTestFiles(chosen.map(joined.of), {
  // Files that wait leave room for another one. More would exhaust the memory of a small machine with many cores.
  concurrency: Math.min(availableParallelism() + 1, 6),
  limitSeconds: values.limit,
  print: (line) => console.log(line),
  everyArea: positionals.length === 0,
  nameOf: (file) => nameOf(joined.sourceOf(file)),
  signal: stop.signal,
})
await joined.remove()
await postgres?.remove()
const { failed } = withChangedFiles(root, tree, totals, (line) => console.log(line))
process.exitCode = failed === 0 ? 0 : 1
