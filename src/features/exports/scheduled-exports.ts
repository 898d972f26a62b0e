/** Exports all actors at regular times. One process runs an occurrence, and another one continues it after a crash. */
import type { DeclaredSchedule } from '../../app/background/background-declarations.ts'
import { timingOf } from '../../app/background/schedule-timing.ts'
import type { ConfigOf } from '../../config/option.ts'
import { workerDeps } from '../../job/create.ts'
import { requireRecentRun, startOfRun } from '../../job/runs.ts'
import { Schedules } from '../../job/schedules.ts'
import { type Core, type LocalCheck, settingsOf } from '../feature.ts'
import { completeFile, type ExportPlace } from './export-place.ts'
import { exportOptions } from './options.ts'

/** Applications cannot declare a schedule whose name begins with `troupe:`. */
const name = 'troupe:exports'

/** Null: exports are off. */
export function createScheduledExports(core: Core): Schedules | null {
  const config = settingsOf(core, exportOptions)
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
        await runExports({ ...core, bytes: core.fileBytes, place }, { scheduledAt, hasSecrets, kept, signal })
      } finally {
        await place.close()
      }
    },
  }
  return new Schedules({ ...workerDeps(core), random: core.random, declared: new Map([[name, schedule]]) })
}

/** Opens the place of the setting `exports`. Close it after use. */
export async function openExportPlace(
  where: string,
  {
    exportsAccessKeyId,
    exportsSecretAccessKey,
  }: Pick<ConfigOf<typeof exportOptions>, 'exportsAccessKeyId' | 'exportsSecretAccessKey'>,
): Promise<ExportPlace> {
  if (!where.startsWith('s3:')) return new (await import('./export-folder.ts')).ExportFolder(where)
  const { ExportBucket } = await import('./export-bucket.ts')
  const { s3Settings } = await import('../../object/s3-objects.ts')
  const key = { accessKeyId: exportsAccessKeyId ?? '', secretAccessKey: exportsSecretAccessKey ?? '' }
  return new ExportBucket(s3Settings(where, key))
}

/** Names the newest complete export, for `troupe doctor`. */
export const exportCheck: LocalCheck = {
  name: 'exports',
  state: async (facts) => {
    const config = settingsOf(facts, exportOptions)
    if (config.exports === null) return null
    const place = await openExportPlace(config.exports, config)
    try {
      let newest: string | undefined
      for (const run of (await place.runs()).toReversed())
        if (await place.has(run, completeFile)) {
          newest = run
          break
        }
      const startedAt = newest === undefined ? null : startOfRun(newest)
      return requireRecentRun('exports', startedAt, { everyHours: config.exportsEveryHours, now: facts.now })
    } finally {
      await place.close()
    }
  },
}
