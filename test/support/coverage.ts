/** Finds the rows of the catalogue that the tests of a run name, and whether those tests passed. */
import { areas, type Area } from './catalogue.ts'

export interface TestOutcome {
  /** The titles from the outermost group to the test. */
  readonly path: readonly string[]
  readonly passed: boolean
}

export interface AreaCoverage {
  readonly area: Area
  readonly named: number
  readonly passing: number
  readonly failing: number
}

const rowPattern = /(?<![A-Za-z0-9-])((?:R-)?[A-Z]+)-(\d\d)(?!\d)/g
const areasById = new Map(areas.map((area) => [area.id, area]))

/** Returns the row ids in a string. An id that no area of the catalogue owns, such as SHA-25, is not a row id. */
export function rowsIn(text: string): string[] {
  const rows: string[] = []
  for (const [row, area] of text.matchAll(rowPattern)) if (area !== undefined && areasById.has(area)) rows.push(row)
  return rows
}

/** Counts the named, passing and failing rows of each area. A row fails when any of its tests fails. */
export function coverageOf(outcomes: readonly TestOutcome[]): AreaCoverage[] {
  const passes = new Map<string, boolean>()
  for (const { path, passed } of outcomes) {
    for (const row of rowsIn(path.join(' '))) passes.set(row, passed && passes.get(row) !== false)
  }
  return areas.map((area) => {
    const rows = [...passes].filter(([row]) => areaOf(row) === area.id)
    const passing = rows.filter(([, passed]) => passed).length
    return { area, named: rows.length, passing, failing: rows.length - passing }
  })
}

/** Returns ids in titles that their area does not contain, because a typing error would otherwise count as a row. */
export function unknownRows(outcomes: readonly TestOutcome[]): string[] {
  const rows = new Set(outcomes.flatMap(({ path }) => rowsIn(path.join(' '))))
  return [...rows].filter((row) => areasById.get(areaOf(row))?.ids.includes(row) !== true)
}

/** Returns one line for each area, without areas that a filtered run does not name. */
export function coverageLines(coverage: readonly AreaCoverage[], everyArea: boolean): string[] {
  return coverage
    .filter(({ named }) => everyArea || named > 0)
    .map(({ area, named, passing, failing }) => {
      const counts = `${named} of ${area.rows} rows named / ${passing} passing / ${failing} failing`
      return `${area.id}: ${counts}  (${area.subject})`
    })
}

function areaOf(row: string): string {
  return row.slice(0, -3)
}
