import { known } from './json.ts'

/** The empty text stands for "no such property", in storage and in diffs. */
export const absent = known('""')
