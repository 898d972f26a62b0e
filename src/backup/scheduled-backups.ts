/** Backups at regular times. One process makes an occurrence, and another one continues it after a crash. */
import type { DeclaredSchedule } from '../app/background/background-declarations.ts'
import { timingOf } from '../app/background/schedule-timing.ts'
import { ConfigError } from '../config/config.ts'
import type { FileBytes } from '../object/file-bytes.ts'
import { hasFileStorage } from '../object/open-bytes.ts'
import { Schedules } from '../job/schedules.ts'
import type { Runtime } from '../runtime.ts'

/** Applications cannot declare a schedule whose name begins with `troupe:`. */
const name = 'troupe:backups'

/** Null: scheduled backups are off. */
export function createScheduledBackups(
  runtime: Runtime,
  { bytes, shutdownMs }: { readonly bytes: FileBytes; readonly shutdownMs: number },
): Schedules | null {
  const { config, store, log, now, timers, metrics } = runtime
  const { backups: root, backupsEveryHours, backupsKept: kept } = config
  metrics.gauge(
    {
      name: 'troupe_backup_timestamp_seconds',
      help: 'Time of the newest complete scheduled backup, in Unix seconds; 0 without one',
    },
    async () => {
      if (root === null) return null
      const { newestBackup } = await import('./run-backup.ts')
      // Without a sample, no alert could tell a service without any backup from one whose backups are off.
      const newest = await newestBackup(root).catch(() => null)
      return (newest ?? 0) / 1000
    },
  )
  if (root === null) return null
  if (store.isSharded)
    throw new ConfigError(
      'Cannot use TROUPE_BACKUPS: the database is sharded, and each of its servers needs its own backup.',
    )
  const schedule: DeclaredSchedule = {
    name,
    // A new service has a backup soon.
    timing: { ...timingOf('Cannot schedule backups:', { every: `${backupsEveryHours}h` }), first: (at) => at },
    handler: async ({ scheduledAt, signal }) => {
      // A start loads little (docs/decisions/059).
      const { runBackup } = await import('./run-backup.ts')
      const { tables, featureMigrations } = runtime
      const hasFiles = hasFileStorage(config)
      const deps = { store, now, timers, url: config.database, bytes, hasFiles, log, tables, featureMigrations }
      await runBackup(deps, { root, scheduledAt, kept, signal })
    },
  }
  return new Schedules({ ...runtime, shutdownMs, declared: new Map([[name, schedule]]) })
}
