/** One scheduled backup, and the backups that stay. */
import { existsSync } from 'node:fs'
import { mkdir, readdir, rename, rm } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { isRun, runOf, startOfRun } from '../job/runs.ts'
import { usable } from '../object/disk.ts'
import type { Log } from '../observe/log.ts'
import { BackupFolder, backupFactsFile } from './backup-folder.ts'
import { type BackupDeps, makeBackup } from './make-backup.ts'

export interface BackupRun {
  readonly root: string
  readonly scheduledAt: Date
  /** Complete backups that stay. Older ones are deleted. */
  readonly kept: number
  readonly signal: AbortSignal
}

/** @throws ServiceError when the backup cannot be made now. The next attempt continues it. */
export async function runBackup(
  deps: BackupDeps & { readonly log: Log },
  { root, scheduledAt, kept, signal }: BackupRun,
): Promise<void> {
  const { log } = deps
  const run = join(resolve(root), runOf(scheduledAt))
  if (!existsSync(join(run, backupFactsFile))) {
    const newest = (await completeRuns(root)).at(-1)
    const earlier = newest === undefined ? null : new BackupFolder(join(resolve(root), newest))
    const { actors, files } = await makeBackup(deps, run, { earlier, signal })
    if (files.missing.length > 0)
      log.error({ run, missing: files.missing.length }, 'The backup lacks contents of files; run troupe doctor deep')
    else log.info({ run, actors, files: files.count }, 'Made a backup')
  }
  await removeOld(root, kept)
}

/** The time of the newest complete backup, in Unix milliseconds. Null: none is complete. */
export async function newestBackup(root: string): Promise<number | null> {
  const newest = (await completeRuns(root)).at(-1)
  return newest === undefined ? null : startOfRun(newest)
}

async function completeRuns(root: string): Promise<readonly string[]> {
  return (await runsIn(root)).filter((run) => existsSync(join(resolve(root), run, backupFactsFile)))
}

/** Also unfinished ones, oldest first. */
function runsIn(root: string): Promise<readonly string[]> {
  return usable('list the backups', async () => {
    await mkdir(resolve(root), { recursive: true, mode: 0o700 })
    const entries = await readdir(resolve(root), { withFileTypes: true })
    return entries
      .filter((entry) => entry.isDirectory() && isRun(entry.name))
      .map((entry) => entry.name)
      .toSorted()
  })
}

async function removeOld(root: string, kept: number): Promise<void> {
  const complete = await completeRuns(root)
  const oldest = complete.at(-kept) ?? complete[0] ?? ''
  for (const run of await runsIn(root)) {
    if (run >= oldest) return
    const path = join(resolve(root), run)
    // A deletion that breaks off must not leave a backup that looks complete.
    await usable('delete an old backup', async () => {
      if (existsSync(join(path, backupFactsFile))) await rename(join(path, backupFactsFile), join(path, 'deleted.json'))
      await rm(path, { recursive: true, force: true })
    })
  }
}
