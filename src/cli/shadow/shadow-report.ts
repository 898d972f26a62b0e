/** Counts what a shadow run found, by route. */
import { counted, print, printable } from '../output.ts'
import { shownPath } from './redacted.ts'

export interface ShadowDifference {
  readonly path: string
  readonly difference: string
}

export interface RouteReport {
  readonly route: string
  readonly equal: number
  readonly different: number
  /** The first differences. */
  readonly first: readonly ShadowDifference[]
}

const maxShown = 3

/** Finds the route of a path, by the templates of an OpenAPI document. */
export class RouteNames {
  readonly #routes: readonly { readonly name: string; readonly pattern: RegExp; readonly fixed: number }[]

  /** @param templates such as `/{actor_id}/properties/{name}`. */
  constructor(templates: readonly string[]) {
    this.#routes = templates
      .map((name) => ({
        name,
        pattern: new RegExp(
          `^${name
            .split(/\{[^{}]+\}/)
            .map((part) => RegExp.escape(part))
            .join('[^/]+')}/?$`,
        ),
        fixed: name.split('/').filter((part) => part !== '' && !part.startsWith('{')).length,
      }))
      // `/meta` is a fixed word in one template and an actor in another.
      .toSorted((a, b) => b.fixed - a.fixed)
  }

  of(path: string): string {
    const [clean = ''] = path.split('?', 1)
    return this.#routes.find(({ pattern }) => pattern.test(clean))?.name ?? '(no documented route)'
  }
}

export class ShadowReport {
  readonly #routes = new Map<string, { equal: number; different: number; readonly first: ShadowDifference[] }>()
  /** Requests that may change data. They are not sent. */
  skipped = 0
  /** Requests without an answer of one service. */
  failed = 0

  add(route: string, path: string, difference: string | null): void {
    const found = this.#routes.get(route) ?? { equal: 0, different: 0, first: [] }
    this.#routes.set(route, found)
    if (difference === null) {
      found.equal += 1
      return
    }
    found.different += 1
    if (found.first.length < maxShown) found.first.push({ path: shownPath(path), difference })
  }

  get routes(): RouteReport[] {
    return [...this.#routes]
      .map(([route, found]) => ({ route, ...found }))
      .toSorted((a, b) => b.different - a.different || (a.route < b.route ? -1 : 1))
  }

  get different(): number {
    return this.routes.reduce((sum, { different }) => sum + different, 0)
  }

  get equal(): number {
    return this.routes.reduce((sum, { equal }) => sum + equal, 0)
  }

  print(): void {
    const { routes, equal, different } = this
    print(`${counted(equal + different, 'read')} compared: ${equal} equal, ${different} different.`)
    if (this.skipped > 0) print(`${counted(this.skipped, 'request')} left out, because only reads are repeated.`)
    if (this.failed > 0) print(`${counted(this.failed, 'request')} without an answer of one service.`)
    for (const route of routes) {
      print(`  ${route.route}: ${route.equal} equal, ${route.different} different`)
      for (const { path, difference } of route.first) print(`    ${printable(path)}: ${printable(difference)}`)
    }
  }
}
