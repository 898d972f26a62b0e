/**
 * Selects the next waiting job: round robin over actors, with limits per peer and host, so that a slow or unreachable peer
 * does not delay the others.
 */
export interface Job {
  readonly actorId: string
  readonly peerId: string
  /** Host of the peer. Many peers may share a host. */
  readonly host: string
}

export interface Limits {
  /** Limit for all actors together. */
  readonly running: number
  readonly perActor: number
  readonly perPeer: number
  /** The number of connections to one host. */
  readonly perHost: number
}

interface ActorJobs<J> {
  waiting: J[]
  running: number
  failingRunning: number
  readonly runningByPeer: Map<string, number>
}

export class FairQueue<J extends Job> {
  readonly #limits: Limits
  /** Whether the last call to the peer failed. Failing peers get one call each, and half of the places together. */
  readonly #isFailing: (job: J) => boolean
  /** In round-robin order. */
  readonly #actors = new Map<string, ActorJobs<J>>()
  readonly #runningFailing = new Set<J>()
  readonly #runningByHost = new Map<string, number>()
  #running = 0
  #waiting = 0

  constructor(limits: Limits, isFailing: (job: J) => boolean) {
    this.#limits = limits
    this.#isFailing = isFailing
  }

  get waiting(): number {
    return this.#waiting
  }

  get running(): number {
    return this.#running
  }

  /** Actors with twice as many waiting jobs as they may run. */
  get busyActors(): string[] {
    const enough = this.#limits.perActor * 2
    return [...this.#actors].filter(([, jobs]) => jobs.waiting.length >= enough).map(([actorId]) => actorId)
  }

  add(job: J): void {
    const jobs = this.#actors.get(job.actorId) ?? {
      waiting: [],
      running: 0,
      failingRunning: 0,
      runningByPeer: new Map<string, number>(),
    }
    this.#actors.set(job.actorId, jobs)
    jobs.waiting.push(job)
    this.#waiting += 1
  }

  /** The next job. Null: no job may begin now. */
  take(): J | null {
    if (this.#waiting === 0 || this.#running >= this.#limits.running) return null
    for (const [actorId, jobs] of this.#actors) {
      const index = jobs.waiting.findIndex((job) => this.#mayBegin(job, jobs))
      if (index < 0) continue
      const [job] = jobs.waiting.splice(index, 1) as [J]
      this.#begin(job, jobs)
      // Moves the actor to the end of the round.
      this.#actors.delete(actorId)
      this.#actors.set(actorId, jobs)
      return job
    }
    return null
  }

  #mayBegin(job: J, jobs: ActorJobs<J>): boolean {
    const { perActor, perPeer, perHost } = this.#limits
    if (jobs.running >= perActor || (this.#runningByHost.get(job.host) ?? 0) >= perHost) return false
    const ofPeer = jobs.runningByPeer.get(job.peerId) ?? 0
    if (!this.#isFailing(job)) return ofPeer < perPeer
    const allowed = Math.max(1, Math.floor(perActor / 2))
    const allowedInAll = Math.max(1, Math.floor(this.#limits.running / 2))
    return ofPeer === 0 && jobs.failingRunning < allowed && this.#runningFailing.size < allowedInAll
  }

  #begin(job: J, jobs: ActorJobs<J>): void {
    this.#waiting -= 1
    this.#running += 1
    jobs.running += 1
    count(this.#runningByHost, job.host, 1)
    count(jobs.runningByPeer, job.peerId, 1)
    if (!this.#isFailing(job)) return
    this.#runningFailing.add(job)
    jobs.failingRunning += 1
  }

  /** Frees the place of a job that has ended, successfully or not. */
  done(job: J): void {
    const jobs = this.#actors.get(job.actorId)
    if (jobs === undefined) return
    this.#running -= 1
    jobs.running -= 1
    count(this.#runningByHost, job.host, -1)
    count(jobs.runningByPeer, job.peerId, -1)
    if (this.#runningFailing.delete(job)) jobs.failingRunning -= 1
    if (jobs.running === 0 && jobs.waiting.length === 0) this.#actors.delete(job.actorId)
  }

  /** Removes waiting jobs. */
  withdraw(matches: (job: J) => boolean): J[] {
    const withdrawn: J[] = []
    for (const [actorId, jobs] of this.#actors) {
      const kept = jobs.waiting.filter((job) => !matches(job))
      if (kept.length === jobs.waiting.length) continue
      withdrawn.push(...jobs.waiting.filter(matches))
      jobs.waiting = kept
      if (jobs.running === 0 && kept.length === 0) this.#actors.delete(actorId)
    }
    this.#waiting -= withdrawn.length
    return withdrawn
  }
}

function count(running: Map<string, number>, name: string, change: number): void {
  const now = (running.get(name) ?? 0) + change
  if (now === 0) running.delete(name)
  else running.set(name, now)
}
