/** Which rows of the catalogue the tests of a run name, and how those tests went. */
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

/** The row ids in a text; ids that no area of the catalogue owns, such as SHA-25, are not rows. */
export function rowsIn(text: string): string[] {
  const rows: string[] = []
  for (const [row, area] of text.matchAll(rowPattern)) if (area !== undefined && areasById.has(area)) rows.push(row)
  return rows
}

/** A row fails when any of its tests fails. */
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

/** Ids in the titles that their area does not have: a slip in the title, which would count as a row otherwise. */
export function unknownRows(outcomes: readonly TestOutcome[]): string[] {
  const rows = new Set(outcomes.flatMap(({ path }) => rowsIn(path.join(' '))))
  return [...rows].filter((row) => areasById.get(areaOf(row))?.ids.includes(row) !== true)
}

/** One line per area, those that a filtered run does not touch left out. */
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
