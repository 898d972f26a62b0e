import { type ConfigOf, optionKinds } from '../../config/option.ts'

export const fileOptions = {
  maxFileBytes: optionKinds.integer({
    env: 'TROUPE_MAX_FILE_BYTES',
    min: 1,
    max: 5_368_709_120,
    unit: 'bytes',
    byDefault: 52_428_800,
    text: 'Maximum size of a file; a larger one returns 413.',
  }),
  maxActorFileBytes: optionKinds.integer({
    env: 'TROUPE_MAX_ACTOR_FILE_BYTES',
    min: 0,
    max: 1_099_511_627_776,
    unit: 'bytes',
    byDefault: 1_073_741_824,
    text: 'Maximum size of all files of an actor; a file beyond it returns 507.',
  }),
  maxFiles: optionKinds.integer({
    env: 'TROUPE_MAX_FILES',
    min: 0,
    max: 100_000,
    byDefault: 10_000,
    text: 'Maximum number of files of an actor; a further one returns 507. 0: no files.',
  }),
  fileTypes: optionKinds.words({
    env: 'TROUPE_FILE_TYPES',
    byDefault: ['*/*'],
    text: 'The media types that files may have, such as `image/*` or `application/pdf`; another type returns 415.',
    defaultText: '`*/*`, every type',
  }),
} as const

export type FileSettings = ConfigOf<typeof fileOptions>
