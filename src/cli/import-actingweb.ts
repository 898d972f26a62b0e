/** `troupe import-actingweb`: takes over a PostgreSQL database of the Python library ActingWeb 3.x. */
import { importActors, type ImportDeps, type ImportReport } from '../actingweb-import/import-actors.ts'
import { SourceDatabase } from '../actingweb-import/source.ts'
import { createLog } from '../observe/log.ts'
import type { Config } from '../config/options.ts'
import { openStore, openStoreInMemory } from '../open-store.ts'
import { NotCreatedError } from '../store/start-error.ts'
import type { Store } from '../store/store.ts'
import { Tokens } from '../token/tokens.ts'
import { commandArgs } from './command-args.ts'
import { counted, counts, print, printJson, printable, progressTo } from './output.ts'
import { withRestoring } from './copies/restoring.ts'
import { UsageError } from './usage-error.ts'
import { commandConfig } from './project/known-project.ts'

/** Actors that come in at the same time. */
const lanes = 4

export async function importActingweb(args: readonly string[]): Promise<number> {
  const { words, options } = commandArgs('troupe import-actingweb', args, {
    database: 'string',
    schema: 'string',
    companions: 'string',
    'sign-in': 'string',
    'dry-run': 'boolean',
    json: 'boolean',
  })
  const { database: url, schema = 'public', json, 'dry-run': isDryRun = false } = options
  if (words.length > 0 || url === undefined || !/^postgres(ql)?:\/\//.test(url))
    throw new UsageError(
      'Cannot run troupe import-actingweb: expected --database with the URL of a PostgreSQL database.',
    )
  const choices = { companions: companionsOf(options.companions), signIns: signInsOf(options['sign-in']) }
  const started = performance.now()
  const report = await withSource(url, schema, (source) => run(source, choices, isDryRun))
  const seconds = (performance.now() - started) / 1000
  if (json === true) printJson({ ...report, dry_run: isDryRun, seconds: Math.round(seconds * 10) / 10 })
  else printReport(report, isDryRun, seconds)
  return report.failed === 0 ? 0 : 1
}

/** Reads `name=type,name=type`. @returns the names by their types. */
function companionsOf(text: string | undefined): ReadonlyMap<string, string> {
  if (text === undefined) return new Map()
  return new Map(
    text.split(',').map((pair) => {
      const [, name, type] = /^([^=]+)=(.+)$/.exec(pair) ?? []
      if (name === undefined || type === undefined)
        throw new UsageError(
          `Cannot read --companions: ${printable(pair)} is not a name and a type, as in myself=urn:actingweb:example.com:notes.`,
        )
      return [type, name]
    }),
  )
}

/** Reads `creator=actor,creator=actor`. @returns the actors by their creators in lower case. */
function signInsOf(text: string | undefined): ReadonlyMap<string, string> {
  if (text === undefined) return new Map()
  return new Map(
    text.split(',').map((pair) => {
      const [, creator, actor] = /^(.+)=([^=]+)$/.exec(pair.trim()) ?? []
      if (creator === undefined || actor === undefined)
        throw new UsageError(
          `Cannot read --sign-in: ${printable(pair)} is not a creator and an actor, as in ada@example.com=0123abcd.`,
        )
      return [creator.toLowerCase(), actor]
    }),
  )
}

async function withSource<T>(url: string, schema: string, work: (source: SourceDatabase) => Promise<T>): Promise<T> {
  const source = await SourceDatabase.open({ url, schema, connections: lanes })
  try {
    return await work(source)
  } finally {
    await source.close()
  }
}

/** A dry run of a database that does not exist yet reads an empty one. */
async function openTarget({ database: url, databaseSchema: schema }: Config, isDryRun: boolean): Promise<Store> {
  try {
    return await openStore({ url, schema, workers: lanes + 1, mustExist: isDryRun })
  } catch (error) {
    if (error instanceof NotCreatedError) return openStoreInMemory({})
    throw error
  }
}

/** Unlike other commands, it may create the database: this is how a service begins. */
async function run(
  source: SourceDatabase,
  choices: Pick<ImportDeps, 'companions' | 'signIns'>,
  isDryRun: boolean,
): Promise<ImportReport> {
  const config = commandConfig()
  const store = await openTarget(config, isDryRun)
  try {
    const { now } = store
    const log = createLog('silent')
    const tokens = new Tokens({ store, log, now, maxSessionDays: config.maxSessionDays })
    return await withRestoring(store, config, (deps) =>
      importActors({
        ...deps,
        source,
        ...choices,
        isDryRun,
        lanes,
        tokens,
        now,
        progress: progressTo(process.stderr, 'actors'),
      }),
    )
  } finally {
    await store.close()
  }
}

function printReport(report: ImportReport, isDryRun: boolean, seconds: number): void {
  const { actors, imported, existing, failed, problems, first } = report
  printSharedCreators(report, isDryRun)
  const rate = isDryRun ? '' : ` in ${seconds.toFixed(1)} s`
  print(`${counted(actors, 'actor')} found, ${imported} ${isDryRun ? 'can be imported' : `imported${rate}`}.`)
  print(`${isDryRun ? 'To import' : 'Imported'}: ${counts(report.counts)}.`)
  if (existing > 0)
    print(`${counted(existing, 'actor')} existed already and ${existing === 1 ? 'stays' : 'stay'} unchanged.`)
  if (failed > 0) print(`${counted(failed, 'actor')} cannot be imported.`)
  print(`Trust types, which the application must declare: ${counts(report.trustTypes)}.`)
  if (problems === 0) return
  print(
    `${counted(problems, 'thing')} ${problems === 1 ? 'stays' : 'stay'} behind${problems > first.length ? `; the first ${first.length}` : ''}:`,
  )
  for (const { actor, problem } of first) print(`  ${printable(actor)}: ${printable(problem)}`)
}

const maxCreators = 100
const reasons = {
  choice: 'as you chose',
  account: 'the only one with such an account',
  age: 'the oldest one, which is a guess',
} as const
const accounts = {
  verified: 'with an account',
  unverified: 'with an account that is not verified',
  none: 'without an account',
}

/** Comes first, because a wrong choice locks an owner out. */
function printSharedCreators({ sharedCreators }: ImportReport, isDryRun: boolean): void {
  if (sharedCreators.length === 0) return
  const guesses = sharedCreators.filter(({ decidedBy }) => decidedBy === 'age').length
  print(
    `${counted(sharedCreators.length, 'creator')} ${sharedCreators.length === 1 ? 'has' : 'have'} several actors, and the sign-in leads to one of them. ${guesses === 0 ? 'None' : guesses} of these ${sharedCreators.length === 1 ? 'choices is a guess' : 'choices are guesses'}.`,
  )
  for (const { creator, actors, decidedBy } of sharedCreators.slice(0, maxCreators)) {
    const [first, ...others] = actors.map(({ id, account }) => `${printable(id)} (${accounts[account]})`)
    print(`  ${printable(creator)}: ${first}, ${reasons[decidedBy]}. Not ${others.join(', ')}.`)
  }
  if (guesses > 0 || isDryRun)
    print(
      '  To choose otherwise, begin the import with --sign-in <creator>=<actor>,… before it runs without --dry-run.',
    )
}
