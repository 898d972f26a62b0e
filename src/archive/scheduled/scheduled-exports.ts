/** Exports all actors at regular times. One process runs an occurrence, and another one continues it after a crash. */
import type { DeclaredSchedule } from '../../app/background/background-declarations.ts'
import { timingOf } from '../../app/background/schedule-timing.ts'
import type { Config } from '../../config/options.ts'
import type { FileBytes } from '../../object/file-bytes.ts'
import { Schedules } from '../../job/schedules.ts'
import type { Runtime } from '../../runtime.ts'
import type { ExportPlace } from './export-place.ts'

/** Applications cannot declare a schedule whose name begins with `troupe:`. */
const name = 'troupe:exports'

/** Null: exports are off. */
export function createScheduledExports(
  runtime: Runtime,
  { bytes, shutdownMs }: { readonly bytes: FileBytes; readonly shutdownMs: number },
): Schedules | null {
  const { config } = runtime
  const { exports: where, exportsEveryHours, exportsKept: kept, exportsWithSecrets: hasSecrets } = config
  if (where === null) return null
  const schedule: DeclaredSchedule = {
    name,
    // A new service has an export soon.
    timing: { ...timingOf('Cannot schedule exports:', { every: `${exportsEveryHours}h` }), first: (at) => at },
    handler: async ({ scheduledAt, signal }) => {
      // A start loads little (docs/decisions/059).
      const { runExports } = await import('./run-exports.ts')
      const place = await openExportPlace(where, config)
      try {
        await runExports({ ...runtime, bytes, place }, { scheduledAt, hasSecrets, kept, signal })
      } finally {
        await place.close()
      }
    },
  }
  return new Schedules({ ...runtime, shutdownMs, declared: new Map([[name, schedule]]) })
}

/** Opens the place of the setting `exports`. Close it after use. */
export async function openExportPlace(
  where: string,
  { exportsAccessKeyId, exportsSecretAccessKey }: Pick<Config, 'exportsAccessKeyId' | 'exportsSecretAccessKey'>,
): Promise<ExportPlace> {
  if (!where.startsWith('s3:')) return new (await import('./export-folder.ts')).ExportFolder(where)
  const { ExportBucket } = await import('./export-bucket.ts')
  const { s3Settings } = await import('../../object/s3-objects.ts')
  const key = { accessKeyId: exportsAccessKeyId ?? '', secretAccessKey: exportsSecretAccessKey ?? '' }
  return new ExportBucket(s3Settings(where, key))
}
