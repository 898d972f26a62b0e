/** `troupe backup` and `troupe restore`: the database and the contents of files, as one copy. */
import type { BackupFacts } from '../../backup/backup-folder.ts'
import { makeBackup } from '../../backup/make-backup.ts'
import { restoreBackup, verifyBackup } from '../../backup/restore-backup.ts'
import type { ServiceConfig } from '../../features/config.ts'
import { hasFileStorage, openFileBytes } from '../../object/open-bytes.ts'
import { keyRingOf } from '../../open-runtime.ts'
import { ringFits } from '../../secret/key-check.ts'
import { NotCreatedError } from '../../store/start-error.ts'
import { commandArgs } from '../command-args.ts'
import { withExistingStore } from '../existing-store.ts'
import { counted, print, printable, printError, printJson, progressTo, sizeText } from '../output.ts'
import { UsageError } from '../usage-error.ts'
import { where } from '../welcome.ts'
import { commandConfig, openExistingStore, projectTables } from '../project/known-project.ts'

const maxNamed = 100

export async function backup(args: readonly string[]): Promise<number> {
  const { words, options } = commandArgs('troupe backup', args, { verify: 'boolean', json: 'boolean' })
  const [folder, ...more] = words
  if (folder === undefined || more.length > 0) throw new UsageError('Cannot run troupe backup: expected one folder.')
  return options.verify === true ? verify(folder, options.json === true) : make(folder, options.json === true)
}

async function make(folder: string, isJson: boolean): Promise<number> {
  const facts = await withExistingStore(async (store, config) => {
    const bytes = openFileBytes(config, false)
    try {
      return await makeBackup(
        { store, now: store.now, url: config.database, bytes, hasFiles: hasFileStorage(config), ...projectTables() },
        folder,
        { progress: progressTo(process.stderr, 'files') },
      )
    } finally {
      await bytes.close()
    }
  })
  if (isJson) printJson(facts)
  else {
    print(`Copied ${contentOf(facts)} to ${printable(folder)}, as they were at ${facts.copied_at}.`)
    nameAll('missing', facts.files.missing)
  }
  return endOf(
    facts.files.missing.length,
    'The storage for files does not have the contents of',
    'run troupe doctor deep',
  )
}

async function verify(folder: string, isJson: boolean): Promise<number> {
  const { facts, damagedFiles } = await verifyBackup(folder, progressTo(process.stderr, 'files'))
  if (isJson) printJson({ ...facts, damaged_files: damagedFiles })
  else {
    nameAll('damaged', damagedFiles)
    nameAll('missing', facts.files.missing)
    if (damagedFiles.length === 0)
      print(`The backup of ${contentOf(facts)} from ${facts.copied_at} is complete and intact.`)
  }
  return endOf(damagedFiles.length, 'The backup has no intact contents of', 'use another backup')
}

export async function restore(args: readonly string[]): Promise<number> {
  const { words, options } = commandArgs('troupe restore', args, { json: 'boolean' })
  const [folder, ...more] = words
  if (folder === undefined || more.length > 0) throw new UsageError('Cannot run troupe restore: expected one folder.')
  const config = commandConfig()
  const bytes = openFileBytes(config, false)
  const target = {
    url: config.database,
    schema: config.databaseSchema,
    bytes,
    hasFiles: hasFileStorage(config),
    featureMigrations: projectTables().featureMigrations,
  }
  try {
    const { facts, files } = await restoreBackup(target, folder, progressTo(process.stderr, 'files'))
    const keysFit = config.secretKeys === null ? null : await keysFitIn(config)
    if (options.json === true) printJson({ ...facts, restored_files: files, keys_fit: keysFit })
    else {
      print(`Restored ${contentOf(facts)} from ${facts.copied_at} to ${where(config.database)}.`)
      if (keysFit === false)
        print('TROUPE_SECRET_KEYS did not encrypt its secrets: set the keys of that time before you start the service.')
      print('Credentials that were revoked after this time are valid again: see troupe restored --help.')
    }
    return 0
  } finally {
    await bytes.close()
  }
}

/** Null: the next start migrates the database first. */
async function keysFitIn(config: ServiceConfig): Promise<boolean | null> {
  try {
    const store = await openExistingStore(config)
    try {
      return await ringFits(store, await keyRingOf(config), projectTables().tables)
    } finally {
      await store.close()
    }
  } catch (error) {
    if (error instanceof NotCreatedError) return null
    throw error
  }
}

function contentOf({ actors, files: { count, bytes } }: BackupFacts): string {
  return `${counted(actors, 'actor')} and ${counted(count, 'file')} (${sizeText(bytes)})`
}

function nameAll(what: string, objects: readonly string[]): void {
  for (const object of objects.slice(0, maxNamed)) print(`${what.padEnd(9)} file ${object}`)
}

function endOf(number: number, what: string, remedy: string): number {
  if (number === 0) return 0
  printError(`${what} ${counted(number, 'file')}: ${remedy}.`)
  return 1
}
