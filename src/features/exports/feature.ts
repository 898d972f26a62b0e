import { builtInFeature } from '../feature.ts'
import { exportOptions } from './options.ts'
import { createScheduledExports, exportCheck } from './scheduled-exports.ts'

/** Archives of all actors, made at regular times. */
export const exports = builtInFeature({
  name: 'exports',
  options: exportOptions,
  localChecks: [exportCheck],
  start: (core) => {
    const schedule = createScheduledExports(core)
    return { parts: undefined, workers: schedule === null ? [] : [schedule] }
  },
})
