/** `npm run citus`: runs the tests of the PostgreSQL store on a Citus cluster that is already running. */
import { readFileSync } from 'node:fs'
import { glob } from 'node:fs/promises'
import { dirname, join, relative, sep } from 'node:path'
import pg from 'pg'
import { commandOptions, refuseOptions } from '../tools/command-options.ts'
import { citusVariable, throughVariable } from './support/citus.ts'
import { runTestFiles } from './support/test-run.ts'

const folder = import.meta.dirname
const command = {
  command: 'npm run citus',
  about:
    'Runs the contracts, stories and faults on PostgreSQL with Citus, or the files whose path contains one of the words.',
  options: {
    coordinator: {
      kind: 'text',
      about:
        'The maintenance database of the coordinator, for a superuser: postgres://postgres@127.0.0.1:5432/postgres.',
    },
    workers: {
      kind: 'text',
      about: 'The maintenance databases of the workers, separated by commas.',
    },
    through: {
      kind: 'integer',
      least: 1,
      about: 'The number of the worker to which the services connect. Default: they connect to the coordinator.',
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
const workers = values.workers?.split(',') ?? []
if (values.coordinator === undefined || values.workers === undefined)
  refuseOptions(command, 'Missing option: expected --coordinator and --workers.')
else if (values.through !== undefined && values.through > workers.length)
  refuseOptions(command, `Invalid --through "${values.through}": expected 1 to ${workers.length}.`)
else {
  process.env[throughVariable] = String(values.through ?? 0)
  process.env[citusVariable] = `${values.coordinator},${values.workers}`
  process.env['TROUPE_TEST_POSTGRES'] = values.coordinator
}

for (const url of (process.env[citusVariable] ?? '').split(',')) await requireCitus(url)

/** Ends the run when a server has no extension citus to create. */
async function requireCitus(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  const { rows } = await client.query<{ version: string }>(
    `SELECT default_version AS version FROM pg_available_extensions WHERE name = 'citus'`,
  )
  await client.end()
  console.log(`${new URL(url).host}: ${rows[0] === undefined ? 'Citus is not installed' : `Citus ${rows[0].version}`}`)
  if (rows[0] === undefined) process.exit(1)
}

const nameOf = (file: string): string => relative(dirname(folder), file).replaceAll(sep, '/')
const parts = operands.length === 0 ? ['test/contracts/', 'test/stories/', 'test/faults/', 'test/cluster/'] : operands
const files = (await Array.fromAsync(glob('**/*.test.ts', { cwd: folder })))
  .map((name) => join(folder, name))
  .filter((file) => parts.some((part) => nameOf(file).includes(part)))
  .filter((file) => /forEachStore|forEachService|createCluster|'postgres'/.test(readFileSync(file, 'utf8')))
  .sort()
const { failed } = await runTestFiles(files, {
  processorLimit: Infinity,
  concurrency: 2,
  limitSeconds: values.limit,
  print: (line) => console.log(line),
  everyArea: false,
  // These tests end processes of the shared servers, which then restart.
  isAlone: (file) => /runCrashRounds|createCluster/.test(readFileSync(file, 'utf8')),
  nameOf,
})
process.exitCode = failed === 0 ? 0 : 1
