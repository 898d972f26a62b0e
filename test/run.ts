/** `npm test`: runs every test file, or with arguments the files whose path contains one of them. */
import { globSync } from 'node:fs'
import { glob } from 'node:fs/promises'
import { availableParallelism } from 'node:os'
import { dirname, join, relative, sep } from 'node:path'
import { commandOptions, refuseOptions } from '../tools/command-options.ts'
import { affectedTests, changedPaths, readerOf } from './support/changed-files.ts'
import { chooseCoveringSet, skippedOutside } from './support/covering-set.ts'
import { dayVariable, everyDayVariable } from './support/day.ts'
import { recordExecutions } from './support/execution-records.ts'
import { longestFirst, sampleOf } from './support/file-order.ts'
import { joinFiles } from './support/joined-files.ts'
import { startPostgres } from './support/postgres.ts'
import {
  readDurations,
  readExecutions,
  readRecorded,
  writeDurations,
  writeExecutions,
  writeRecorded,
} from './support/recorded.ts'
import { processOf } from './support/own-process.ts'
import { makeLoad, repeatRuns } from './support/repeat.ts'
import { judgeStatements, readStatements } from './support/statement-judge.ts'
import { recordStatements, type StatementRecord } from './support/statement-records.ts'
import { shardedVariable } from './support/stores.ts'
import { loadedModules } from './support/test-file.ts'
import { changedFiles, workingTree } from './support/working-tree.ts'
import { runTestFiles, type RunTotals } from './support/test-run.ts'

const folder = import.meta.dirname
const root = dirname(folder)
const command = {
  command: 'npm test',
  about: 'Runs every test file, or the files whose path contains one of the words: npm test -- lists rules/secret',
  options: {
    full: {
      kind: 'flag',
      about:
        'Runs all stories on PostgreSQL too, instead of those that together execute every statement there, and what takes turns from day to day.',
    },
    cover: {
      kind: 'flag',
      about:
        'Runs everything, or the named files beside a sample of the others, and chooses the stories that run on PostgreSQL again. It writes test/recorded.',
    },
    changed: {
      kind: 'flag',
      about: 'Runs only the files that a change since the parent of main can affect.',
    },
    repeat: { kind: 'integer', least: 1, about: 'Runs the files N times, and prints how often each test failed.' },
    load: { kind: 'flag', about: 'Keeps all processors busy meanwhile.' },
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
const nameOf = (file: string): string => relative(root, file).replaceAll(sep, '/')

const files: string[] = []
// The tests of a cluster run with `npm run citus`.
for await (const name of glob('**/*.test.ts', { cwd: folder, exclude: ['cluster/**'] })) files.push(join(folder, name))
const isNamed = operands.length > 0
const isWhole = !isNamed && !values.changed
if (values.cover && (values.changed || values.repeat !== undefined))
  refuseOptions(command, 'Invalid --cover: expected no other option, because it records each file from one run.')
const named = isNamed ? files.filter((file) => operands.some((part) => nameOf(file).includes(part))) : files
const durations = readDurations()
const names = named.map(nameOf)
const affected = values.changed ? affectedTests(changedPaths(root), names, readExecutions(), readerOf(root)) : names
// Named files are recorded beside others, which show what every service executes. Files that were removed have no record.
const sample = values.cover && isNamed ? sampleOf(readRecorded('durations'), 16, names) : []
const references = sample.filter((name) => files.some((file) => nameOf(file) === name))
const chosen = longestFirst([...affected, ...references], durations).map((name) => join(root, name))

// Every process would otherwise strip and compile all of src again.
process.env['NODE_COMPILE_CACHE'] ??= join(root, 'node_modules', '.cache', 'compile')

const tree = workingTree(root)
const stop = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => stop.abort())

// All files share one server, where each test has its own database. The rules need no database.
const needsPostgres = chosen.some((file) => !nameOf(file).startsWith('test/rules/'))
const postgres = needsPostgres && (process.env['TROUPE_TEST_POSTGRES'] ?? '') === '' ? await startPostgres() : null
if (postgres !== null) process.env['TROUPE_TEST_POSTGRES'] = postgres.url

if (tree === null) console.log('Whether the run changes files is not checked: this copy has no repository.')
// The counts are the last line of a run.
if (isWhole) console.log('npm run citus is another lane: it needs a Citus cluster, and counts nothing.')

// Programs that tests start load these files by their paths.
const programs = [
  'src/*.ts',
  'src/cli/main.ts',
  'test/support/*-app.ts',
  'test/support/limited-process.ts',
  'test/support/heavy-service.ts',
  // The commands of CONTRIBUTING.md
  '{bench,test}/run.ts',
  'test/{crash,heavy,models,soak}.ts',
  'test/{conformance,simulation}/main.ts',
  'examples/demo/run.ts',
  'tools/{check,docs,mutate,prose}.ts',
]
// Packages that services load when they start, or with their first request to a peer. Applications share none of their objects.
const packages = ['pg', 'prom-client', 'pino', 'croner', 'ipaddr.js', 'hono', 'undici', 'ajv']
const programFiles = globSync(programs, { cwd: root }).map((name) => join(root, name))
const joined = await joinFiles(root, [...chosen, ...programFiles, ...loadedModules], {
  core: join(folder, 'support/service.ts'),
  isSmall: (source) => nameOf(source).startsWith('test/rules/') || loadedModules.includes(source),
  packages,
})
// All files of a run that lasts beyond midnight have one day.
const day = (process.env[dayVariable] ??= new Date().toISOString().slice(0, 10))
const set = readRecorded('covering-set')
process.env[shardedVariable] = 'yes'
if (values.full) process.env[everyDayVariable] = 'yes'
if (isWhole) console.log(`The seeds of the simulation and the moments of crashes are those of ${dayVariable}=${day}.`)
const statements = recordStatements(values.cover ? 'named' : 'by-store')
const executions = values.cover ? recordExecutions() : null
/** The records, with the names of the source files. */
const executed = (): StatementRecord[] => statements.read().map((record) => ({ ...record, file: nameOf(record.file) }))

const run = (): Promise<RunTotals> =>
  runTestFiles(chosen, {
    // Files that wait leave room for another one. More would exhaust the memory of a small machine with many cores.
    concurrency: Math.min(availableParallelism() + 3, 8),
    limitSeconds: values.limit,
    print: (line) => console.log(line),
    everyArea: isWhole,
    // Named files also run the stories outside the covering set on PostgreSQL.
    ...(values.full || values.cover || values.load || isNamed ? { processorLimit: 80 } : {}),
    nameOf,
    // A process reports once which functions it executed.
    processOf: (file) => (values.cover ? null : processOf(nameOf(file))),
    skipOf: (file) => {
      const isReference = references.includes(nameOf(file))
      if (values.cover && !isReference) return undefined
      return skippedOutside(set, nameOf(file), !isReference && (values.full || isNamed))
    },
    finish: async () => {
      // Its processor time counts when it has ended.
      if (values.repeat === undefined) await postgres?.remove()
      const changed = tree === null ? [] : changedFiles(root, tree)
      const faults = isWhole && !values.cover ? judgeStatements(executed(), readStatements(root)) : []
      return [...changed.map((path) => `The run changed ${path}`), ...faults]
    },
    signal: stop.signal,
  })
const load = values.load ? makeLoad() : null
let failed = 0
if (values.repeat !== undefined) failed = (await repeatRuns(values.repeat, run, console.log)).failed
else {
  const totals = await run()
  failed = totals.failed
  const seconds = totals.results.map((result) => [nameOf(result.file), Math.round(result.seconds)] as const)
  writeDurations({ ...durations, ...Object.fromEntries(seconds) })
  if (executions !== null) {
    const isMeasured = (name: string): boolean => !references.includes(name)
    /** The records of the files that did not run. */
    const others = <Value>(recorded: Readonly<Record<string, Value>>): Record<string, Value> =>
      isNamed ? Object.fromEntries(Object.entries(recorded).filter(([name]) => !names.includes(name))) : {}
    writeRecorded('covering-set', {
      ...others(set),
      ...chooseCoveringSet(executed(), totals.results, nameOf, isMeasured),
    })
    writeExecutions({ ...others(readExecutions()), ...executions.read(nameOf, isNamed ? references : undefined) })
    writeRecorded('durations', {
      ...others(readRecorded('durations')),
      ...Object.fromEntries(seconds.filter(([name]) => isMeasured(name))),
    })
  }
}
load?.stop()
executions?.remove()
statements.remove()
await joined.remove()
if (values.repeat !== undefined) await postgres?.remove()
process.exitCode = failed === 0 ? 0 : 1
