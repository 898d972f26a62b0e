/** The places of all tables on a sharded database. */
import { builtInTables } from '../../src/features/features.ts'
import { placementsWith } from '../../src/table/placement.ts'

export const placements = placementsWith(builtInTables)
