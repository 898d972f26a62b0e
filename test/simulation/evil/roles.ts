/** The evil services of a run: which ones, when they act, and what must hold in spite of them. */
import type { Random } from '../../support/random.ts'
import type { LeftBehind, Workload } from '../workload.ts'
import type { World } from '../world.ts'
import { Heard } from './heard.ts'
import { OldHome } from './old-home.ts'
import { Stranger, strangerId, strangerOrigin } from './stranger.ts'

/** `stranger`: a service with full control of its answers. `old-home`: the service that an actor left turns evil. */
export const evilChoices = ['none', 'stranger', 'old-home', 'both'] as const
export type EvilChoice = (typeof evilChoices)[number]

/** The roles of a seed, unless an option names others. Every third seed has honest services only. */
export function evilOf(seed: number): EvilChoice {
  return (['none', 'both', 'stranger', 'none', 'old-home', 'both'] as const)[seed % 6] ?? 'none'
}

export const strangerUrl = `${strangerOrigin}/${strangerId}`

export class Roles {
  readonly #world: World
  readonly #workload: Workload
  readonly #random: Random
  readonly #stranger: Stranger | null
  readonly #strangerHeard: Heard
  readonly #hasOldHomes: boolean
  readonly #oldHomes: { readonly home: OldHome; readonly heard: Heard }[] = []

  constructor(parts: {
    readonly world: World
    readonly workload: Workload
    readonly random: Random
    readonly choice: EvilChoice
    /** Whether every request of a friend is approved. */
    readonly acceptsFriends: boolean
  }) {
    const { world, workload, random, choice, acceptsFriends } = parts
    this.#world = world
    this.#workload = workload
    this.#random = random
    this.#strangerHeard = new Heard({
      name: 'the stranger',
      violation: world.violation,
      mayRead: (mark) => mark === 'open' || (mark === 'inner' && acceptsFriends),
    })
    this.#stranger =
      choice === 'stranger' || choice === 'both' ? new Stranger(world, random, this.#strangerHeard) : null
    this.#hasOldHomes = choice === 'old-home' || choice === 'both'
  }

  get hasStranger(): boolean {
    return this.#stranger !== null
  }

  get hasOldHomes(): boolean {
    return this.#hasOldHomes
  }

  get isEvil(): boolean {
    return this.hasStranger || this.#hasOldHomes
  }

  /** Number of attacks. */
  get count(): number {
    return (this.#stranger?.count ?? 0) + this.#oldHomes.reduce((sum, { home }) => sum + home.count, 0)
  }

  get turned(): number {
    return this.#oldHomes.length
  }

  async open(): Promise<void> {
    await this.#stranger?.open()
  }

  /** Makes one attack of each. */
  async act(): Promise<void> {
    await this.#stranger?.act()
    for (const { home } of this.#oldHomes) await home.act()
  }

  async actOften(times: number): Promise<void> {
    for (let time = 0; time < times; time++) await this.act()
  }

  /** The stranger no longer takes the ids of other actors, because only the decision of an owner ends that. */
  calm(): void {
    if (this.#stranger !== null) this.#stranger.mayPretend = false
  }

  /** Turns the homes evil that actors have left, and that no peer depends on any longer. */
  turn(): void {
    if (!this.#hasOldHomes) return
    const left = Map.groupBy(this.#workload.leftBehind, ({ actor, from }) => `${from.origin}/${actor.id}`)
    for (const [address, all] of left) {
      const [first] = all
      if (first === undefined || !this.#mayTurn(address, first)) continue
      const written = this.#workload.written
      const heard = new Heard({
        name: `the old home of ${first.actor.id}`,
        violation: this.#world.violation,
        mayRead: (_mark, number) => number < written,
      })
      const home = new OldHome(this.#world, this.#random, heard, [first, ...all])
      home.turn()
      this.#oldHomes.push({ home, heard })
    }
  }

  #mayTurn(address: string, { actor, from }: LeftBehind): boolean {
    if (actor.isGone || actor.mayBeGone || actor.host === from || from.ledger.hasActor(actor.id)) return false
    if (from.ledger.departureOf(actor.id) === null || this.#world.outsiders.has(address)) return false
    if (this.#world.python?.knows(address) === true) return false
    return !this.#world.hosts.some(({ ledger }) => ledger.knows(address))
  }

  /** Reports the secrets of others that an evil service has heard. */
  judge(): void {
    const { secrets } = this.#world
    this.#strangerHeard.judge(secrets)
    for (const { heard } of this.#oldHomes) heard.judge(secrets)
  }
}
