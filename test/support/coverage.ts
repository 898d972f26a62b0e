/** Finds the rows of the catalogue that a run proves: the tests that the row names ran and passed. */
import { areas, type Area, type Proof, proofsOf, specPage, withoutIds } from './catalogue.ts'

export interface TestOutcome {
  /** The titles from the outermost group to the test. */
  readonly path: readonly string[]
  readonly passed: boolean
}

export interface AreaCoverage {
  readonly area: Area
  /** The number of rows that the titles of the run name. */
  readonly named: number
  readonly proven: number
  /** The number of rows with a failing test. */
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

/** The proofs of all rows. */
const allProofs = new Map(['faults', 'requirements'].flatMap((page) => [...proofsOf(specPage(page))]))

/**
 * Counts the named, proven and failing rows of each area. A row is proven when each test that it names passed in one case at
 * least, and no test with its id failed.
 */
export function coverageOf(
  outcomes: readonly TestOutcome[],
  proofs: ReadonlyMap<string, readonly Proof[]> = allProofs,
): AreaCoverage[] {
  const paths = new Map<string, (readonly string[])[]>()
  const failing = new Set<string>()
  for (const { path, passed } of outcomes) {
    for (const row of rowsIn(path.join(' '))) {
      if (passed) paths.set(row, [...(paths.get(row) ?? []), path])
      else failing.add(row)
    }
  }
  const isProven = (row: string): boolean => {
    const ofRow = proofs.get(row) ?? []
    return ofRow.length > 0 && ofRow.every((proof) => paths.get(row)?.some((path) => isOutcomeOf(proof, path)))
  }
  return areas.map((area) => {
    const named = new Set([...paths.keys(), ...failing].filter((row) => areaOf(row) === area.id))
    const ofArea = [...named].filter((row) => failing.has(row))
    const proven = [...named].filter((row) => !failing.has(row) && isProven(row))
    return { area, named: named.size, proven: proven.length, failing: ofArea.length }
  })
}

/** Whether the title of a test is that of a proof, in which `…` is any part. */
function isOutcomeOf({ title }: Proof, path: readonly string[]): boolean {
  const own = withoutIds(path.at(-1) ?? '')
  const pattern = new RegExp(
    `^${title
      .split('…')
      .map((part) => RegExp.escape(part))
      .join('.+')}$`,
    's',
  )
  return pattern.test(own) || pattern.test(`${withoutIds(path.at(-2) ?? '')} › ${own}`)
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
    .map(({ area, proven, failing }) => {
      return `${area.id}: ${proven} of ${area.rows} rows proven / ${failing} failing  (${area.subject})`
    })
}

function areaOf(row: string): string {
  return row.slice(0, -3)
}
