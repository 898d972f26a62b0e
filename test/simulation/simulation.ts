/**
 * One run: a storm of requests over a faulty network with dying processes, then calm until nothing is due, then the
 * checks. The seed decides everything, so a run can be repeated exactly.
 */
import { seedProcess } from './deterministic.ts'
import { createHash } from 'node:crypto'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TroupeOptions } from '../../src/troupe.ts'
import { type Random, seeded } from '../support/random.ts'
import { startService } from '../support/service.ts'
import { closeDatabases, makeDatabase } from './databases.ts'
import { type EvilChoice, evilOf, Roles, strangerUrl } from './evil/roles.ts'
import { judgeReplicas, judgeSecrets, judgeTables } from './judge.ts'
import { calm, type Weather } from './network.ts'
import { watchOutside } from './outside.ts'
import { Workload } from './workload.ts'
import { type Host, type SimActor, World } from './world.ts'

export interface Outcome {
  readonly seed: number
  /** Violated invariants; empty when the run passed. */
  readonly violations: readonly string[]
  /** Hash of the trace, which contains all events in order. */
  readonly hash: string
  readonly statistics: Statistics
}

export interface Statistics {
  readonly steps: number
  readonly callbacks: number
  /** Total of all subscriptions. */
  readonly numbers: number
  /** Number of started processes. */
  readonly starts: number
  /** Relationships of actors that moved to another service. */
  readonly moved: number
  /** Attacks of evil services. */
  readonly attacks: number
  /** Old homes that turned evil. */
  readonly turned: number
  /** Copies of the Python actor that were compared with their publishers. */
  readonly pythonCopies: number
}

/** Runs that share a folder and a migrated template database. */
export class Simulator {
  /** In memory where the system supports it, because nothing must survive. */
  readonly #folder = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'troupe-simulation-'))

  /** @param evil The evil services. Default: the seed decides. */
  async run(seed: number, print: (line: string) => void = () => {}, evil: EvilChoice = evilOf(seed)): Promise<Outcome> {
    const template = await this.#template()
    const hash = createHash('sha256')
    const trace = (line: string): void => {
      hash.update(line)
      print(line)
    }
    const run = new Run({ seed, folder: this.#folder, template, trace, evil })
    seedProcess({ seed, now: run.now })
    try {
      const { violations, statistics } = await watchOutside(run.violation, () => run.run())
      return { seed, violations, hash: hash.digest('hex').slice(0, 16), statistics }
    } finally {
      seedProcess(null)
    }
  }

  /** Migrates one template database, because a copy is cheaper than the migrations. */
  async #template(): Promise<string> {
    const path = join(this.#folder, 'template.db')
    if (!existsSync(path)) await (await startService(`sqlite:${path}`, { logLevel: 'silent' })).close()
    return path
  }

  close(): void {
    closeDatabases(this.#folder)
    rmSync(this.#folder, { recursive: true, force: true })
  }
}

/** The longest time to come to rest in a calm network, longer than all waits of the service together. Milliseconds. */
const restMs = 2 * 3_600_000

interface RunParts {
  readonly seed: number
  readonly folder: string
  /** Path of the migrated database. */
  readonly template: string
  readonly trace: (line: string) => void
  readonly evil: EvilChoice
}

class Run {
  readonly #world: World
  readonly #random: Random
  readonly #workload: Workload
  readonly #seconds: number
  /** The kinds of work in this run, repeated by their weight. */
  readonly #mix: readonly [string, ...string[]]
  readonly #roles: Roles
  #working = 0
  #pythonCopies = 0

  constructor({ seed, folder, template, trace, evil }: RunParts) {
    this.#random = seeded(seed)
    const hosts = this.#random.pick([
      [1, 1],
      [1, 1],
      [1, 2],
      [2, 1],
      [1, 1, 1],
    ] as const)
    const settings = settingsOf(this.#random)
    this.#world = new World({
      seed,
      folder,
      hosts,
      isEvil: evil !== 'none',
      hasPython: seeded(seed * 17 + 11).below(2) === 0,
      createDatabase: (path) => makeDatabase(path, template),
      settings,
      declare: (app, world) => {
        app.callback('subscription', ({ actor, data }) => {
          world.watch.heard(actor.id, data)
          return true
        })
      },
      trace,
    })
    this.#workload = new Workload(this.#world, seeded(seed * 7 + 3), evil === 'none' ? null : strangerUrl)
    this.#seconds = 10 + this.#random.below(30)
    this.#roles = new Roles({
      world: this.#world,
      workload: this.#workload,
      random: seeded(seed * 13 + 7),
      choice: evil,
      acceptsFriends: settings.autoAcceptTrust === true,
    })
    const strange = this.#roles.hasStranger ? Object.keys(this.#workload.strangeSteps) : []
    const python = pythonMixOf(this.#random, Object.keys(this.#workload.pythonWork?.steps ?? {}))
    this.#mix = [...mixOf(this.#random, Object.keys(this.#workload.steps)), ...strange, ...strange, ...python] as [
      string,
    ]
  }

  get now(): () => number {
    return this.#world.time.now
  }

  get violation(): (text: string) => void {
    return this.#world.violation
  }

  async run(): Promise<{ violations: readonly string[]; statistics: Statistics }> {
    const world = this.#world
    try {
      await world.open()
      await world.during(this.#begin())
      this.#storm()
      await world.time.runUntil(world.time.now() + this.#seconds * 1000)
      this.#heal()
      await world.during(this.#finish(), restMs)
      await this.#approveLate()
      await this.#rest()
      await world.during(this.#forEach((actor) => this.#workload.syncPolled(actor)))
      await this.#rest()
      await world.during(judgeSecrets(world, this.#workload))
      this.#pythonCopies += await world.during(judgeReplicas(world, this.#workload, { mayBeBehind: true }))
      await world.during(this.#betray())
      // A subscriber notices a lost diff with the next change at the latest.
      await world.during(this.#forEach((actor) => this.#workload.touchEverything(actor)))
      await this.#rest()
      if (world.python !== null) {
        // The Python actor ends a gap with the second callback behind it, more than 5 seconds after the first.
        await world.during(this.#forEach((actor) => this.#workload.touchEverything(actor)))
        await this.#rest()
      }
      await world.during(this.#forEach((actor) => this.#workload.syncPolled(actor)))
      await this.#rest()
      this.#pythonCopies += await world.during(judgeReplicas(world, this.#workload, { mayBeBehind: false }))
      for (const { actorId, secret } of world.watch.ended) await world.during(this.#workload.knockWith(actorId, secret))
      await world.during(this.#workload.knockAfterMoves())
      if (this.#roles.isEvil) await world.during(this.#workload.judgeReach())
      this.#roles.judge()
      await judgeTables(world)
    } catch (error) {
      world.violation(`The run ended with ${error instanceof Error ? error.stack : String(error)}`)
    } finally {
      await world.close()
    }
    return {
      violations: world.violations,
      statistics: {
        steps: [...this.#workload.counts.values()].reduce((sum, count) => sum + count, 0),
        callbacks: world.watch.callbacks,
        numbers: world.hosts.reduce((sum, { ledger }) => sum + ledger.count, 0),
        starts: world.hosts.reduce((sum, { starts }) => sum + starts, 0),
        moved: this.#workload.moves,
        attacks: this.#roles.count,
        turned: this.#roles.turned,
        pythonCopies: this.#pythonCopies,
      },
    }
  }

  /** Creates actors with some relationships and subscriptions. */
  async #begin(): Promise<void> {
    const { hosts } = this.#world
    const count = 2 + this.#random.below(3)
    const actors: SimActor[] = []
    for (let index = 0; index < count; index++) {
      actors.push(await this.#world.createActor(hosts[index % hosts.length] as Host))
    }
    for (const name of ['ask', 'put', 'approve', 'subscribe', 'list'] as const) {
      for (const actor of actors) {
        for (let times = name === 'approve' ? 2 : 1; times > 0; times--) await this.#workload.do(name, actor)
      }
    }
    for (const name of this.#world.python === null ? [] : ['pythonAsks', 'pythonSubscribes']) {
      for (const actor of actors.slice(0, 2)) {
        await this.#workload.do(name, actor)
        await this.#workload.approveAll(actor)
      }
    }
    await this.#roles.open()
    const [first] = actors
    if (this.#roles.hasOldHomes && first !== undefined) await this.#workload.do('move', first)
  }

  /** An actor that moved asks the Python actor again after a while, and its callbacks are refused until the owner approves. */
  async #approveLate(): Promise<void> {
    const { python, time } = this.#world
    const { pythonWork } = this.#workload
    if (python === null || pythonWork === null) return
    await time.runUntil(time.now() + 600_000)
    await this.#world.during(this.#forEach((actor) => pythonWork.settle(actor)))
    await this.#world.during(this.#forEach((actor) => this.#workload.approveAll(actor)))
  }

  /** Homes that actors have left turn evil, while their owners continue, and perhaps move again. */
  async #betray(): Promise<void> {
    if (!this.#roles.isEvil) return
    this.#roles.turn()
    await this.#roles.actOften(6)
    for (const actor of this.#world.actors) {
      if (actor.isGone) continue
      for (const name of ['put', 'list', 'ask'] as const) await this.#workload.do(name, actor)
      if (this.#random.below(3) === 0) await this.#workload.do('move', actor)
      await this.#roles.act()
    }
    await this.#settle()
    await this.#approveLate()
    await this.#roles.actOften(6)
  }

  #storm(): void {
    const world = this.#world
    const random = this.#random
    world.trace('the storm begins')
    world.network.weather = weatherOf(random)
    const end = world.time.now() + this.#seconds * 1000
    const again = (leastMs: number, spreadMs: number, work: () => void): void => {
      const next = (): void => {
        if (world.time.now() >= end) return
        work()
        world.time.after(leastMs + random.below(spreadMs), next)
      }
      world.time.after(random.below(spreadMs), next)
    }
    if (this.#roles.isEvil)
      again(100, 1500, () => {
        this.#working++
        void this.#roles
          .act()
          .catch((error: unknown) => world.violation(`An attack failed: ${error instanceof Error ? error.stack : ''}`))
          .finally(() => this.#working--)
      })
    again(20, this.#random.pick([300, 800]), () => {
      const actor = world.actors[random.below(world.actors.length)]
      if (actor === undefined || actor.isGone) return
      this.#working++
      void this.#workload
        .do(random.pick(this.#mix), actor)
        .catch((error: unknown) => world.violation(`A step failed: ${error instanceof Error ? error.stack : ''}`))
        .finally(() => this.#working--)
    })
    if (random.below(4) > 0) again(1000, 10_000, () => this.#kill())
    if (random.below(2) > 0) again(2000, 15_000, () => this.#cut())
  }

  /** Kills a process after a random number of steps, so that it dies at any place. */
  #kill(): void {
    const host = this.#world.hosts[this.#random.below(this.#world.hosts.length)]
    const program = host?.programs[this.#random.below(host.programs.length)]
    if (host === undefined || program === undefined) return
    program.dieIn(1 + this.#random.below(60))
    this.#world.time.after(500 + this.#random.below(15_000), async () => {
      if (host.programs.length < host.size) await this.#world.startProgram(host)
    })
  }

  #cut(): void {
    const { hosts, network, time } = this.#world
    const [from, to] = [hosts[this.#random.below(hosts.length)], hosts[this.#random.below(hosts.length)]]
    if (from === undefined || to === undefined) return
    const pair = `${from.origin} ${to.origin}`
    network.cut.add(pair)
    time.after(500 + this.#random.below(20_000), () => void network.cut.delete(pair))
  }

  #heal(): void {
    const { hosts, network, time, trace } = this.#world
    trace('all is calm')
    network.weather = calm
    network.cut.clear()
    for (const host of hosts) {
      for (const program of host.programs) program.dieIn(Infinity)
      for (let missing = host.size - host.programs.length; missing > 0; missing--) {
        time.after(1, () => (host.programs.length < host.size ? this.#world.startProgram(host) : undefined))
      }
    }
  }

  /** Ends the work, resumes every suspended target and approves every request. */
  async #finish(): Promise<void> {
    const { time } = this.#world
    this.#roles.calm()
    await time.pause(1000)
    while (this.#working > 0) await time.pause(1000)
    await this.#settle()
    await this.#forEach((actor) => this.#workload.resumeAll(actor))
  }

  /** Waits for moves, and lets every owner decide what waits. */
  async #settle(): Promise<void> {
    await this.#forEach((actor) => this.#workload.waitForMove(actor))
    if (this.#roles.isEvil) await this.#forEach((actor) => this.#workload.rejectStrangers(actor))
    await this.#workload.askAgain()
    await this.#forEach((actor) => this.#workload.approveAll(actor))
    const { pythonWork } = this.#workload
    if (pythonWork === null) return
    await this.#forEach((actor) => pythonWork.settle(actor))
    await this.#forEach((actor) => this.#workload.approveAll(actor))
  }

  async #forEach(work: (actor: SimActor) => Promise<unknown>): Promise<void> {
    for (const actor of this.#world.actors) if (!actor.isGone) await work(actor)
  }

  /** Waits until nothing is due. */
  async #rest(): Promise<void> {
    const { hosts, time, violation } = this.#world
    const limit = time.now() + restMs
    for (;;) {
      await time.runUntil(time.now() + 10_000)
      const ledgers = hosts.map(({ ledger }) => ledger)
      const due = ledgers.map((ledger) => ledger.due(ledgers)).find((found) => found !== null)
      if (due === undefined) return
      if (time.now() >= limit) {
        violation(`The world does not come to rest: ${due}`)
        return
      }
    }
  }
}

function settingsOf(random: Random): Partial<TroupeOptions> {
  return {
    autoAcceptTrust: random.below(3) === 0,
    relationship: 'friend',
    maxDiffs: random.pick([1000, 1000, 4]),
    circuitThreshold: random.pick([5, 2]),
    circuitCooldownSeconds: random.pick([60, 5]),
    retryCallbacks: random.below(4) > 0,
    synchronousCallbacks: random.below(4) === 0,
    maxConcurrentCallbacks: random.pick([10, 1]),
    maxHighGranularityBytes: random.pick([65_536, 1024]),
    maxPendingCallbacks: random.pick([100, 2]),
    acceptMoves: true,
  }
}

/** Each run has its own mix of work, so that rare kinds sometimes meet without the common ones. */
function mixOf(random: Random, all: readonly string[]): [string, ...string[]] {
  const often: [string, ...string[]] = ['put', 'put', 'putBelow', 'list', 'list', 'subscribe', 'peerReads', 'knock']
  const rare = new Set(['removeAll', 'deleteActor', 'end', 'suspend', 'move', 'stay'])
  for (const name of all) {
    if (random.below(rare.has(name) ? 3 : 2) > 0) continue
    for (let times = rare.has(name) ? 1 : 1 + random.below(3); times > 0; times--) often.push(name)
  }
  return often
}

/** The ends of relationships and subscriptions are rare, so that copies last. */
function pythonMixOf(random: Random, all: readonly string[]): readonly string[] {
  const rare = new Set(['pythonUnsubscribes', 'pythonEnds', 'pythonIsRestored', 'pythonAsks'])
  return all.filter((name) => !rare.has(name) || random.below(4) === 0)
}

function weatherOf(random: Random): Weather {
  const some = (most: number): number => (random.below(2) === 0 ? 0 : random.next() * most)
  return {
    unreached: some(0.3),
    lostRequest: some(0.1),
    lostAnswer: some(0.1),
    repeated: some(0.1),
    answeredByIngress: some(0.1),
    slow: some(0.1),
  }
}
