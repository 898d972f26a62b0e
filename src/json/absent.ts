import { known } from './json.ts'

/** The empty string, which marks a missing property in storage and in diffs. */
export const absent = known('""')
