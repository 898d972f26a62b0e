/** The search, the filter and the order that a person chose in a listing, as links. */

/** A choice of the filter of a listing. */
export interface ListingFilter {
  readonly name: string
  readonly count: number
  readonly href: string
  readonly is_current: boolean
}

/** A column by which a listing can be sorted. */
export interface ListingColumn<Name extends string> {
  readonly name: Name
  /** Null when the listing is sorted by another column. */
  readonly order: 'ascending' | 'descending' | null
  /** Sorts by this column, or reverses its order. */
  readonly href: string
}

/** Returns the address of a listing without the choices that apply anyway. */
export function addressFor<Choices extends Readonly<Record<string, string>>>(
  page: string,
  choices: Choices,
  standard: Choices,
): string {
  const chosen = Object.entries(choices).filter(([name, value]) => value !== standard[name])
  return chosen.length === 0 ? page : `${page}?${new URLSearchParams(chosen).toString()}`
}

/** Builds a filter: everything, then each choice that fits something or is chosen. */
export function filtersFor<Choice extends string>(
  choices: readonly Choice[],
  {
    chosen,
    all,
    labels,
    countOf,
    hrefOf,
  }: {
    readonly chosen: Choice | undefined
    readonly all: { readonly name: string; readonly count: number }
    readonly labels: Readonly<Record<Choice, string>>
    readonly countOf: (choice: Choice) => number
    /** Returns the address with this choice; empty for everything. */
    readonly hrefOf: (choice: Choice | '') => string
  },
): readonly ListingFilter[] {
  return [
    { ...all, href: hrefOf(''), is_current: chosen === undefined },
    ...choices.flatMap((choice) => {
      const count = countOf(choice)
      if (count === 0 && choice !== chosen) return []
      return [{ name: labels[choice], count, href: hrefOf(choice), is_current: choice === chosen }]
    }),
  ]
}
