/**
 * Which of the waiting jobs runs next: actors take turns, and within an actor no peer holds more than its share, so that
 * one that is slow or gone delays nobody but itself.
 */
export interface Job {
  readonly actorId: string
  readonly peerId: string
  /** Of the peer: many peers may share one. */
  readonly host: string
}

export interface Limits {
  /** Of everybody together. */
  readonly running: number
  readonly perActor: number
  readonly perPeer: number
  /** As many as there are connections to one host. */
  readonly perHost: number
}

interface ActorJobs<J> {
  waiting: J[]
  running: number
  suspectsRunning: number
  readonly runningByPeer: Map<string, number>
}

export class FairQueue<J extends Job> {
  readonly #limits: Limits
  /** Peers whose last call failed: they share half of their actor's calls, and have one each. */
  readonly #isSuspect: (job: J) => boolean
  /** In the order of turns. */
  readonly #actors = new Map<string, ActorJobs<J>>()
  readonly #suspects = new Set<J>()
  readonly #runningByHost = new Map<string, number>()
  #running = 0
  #waiting = 0

  constructor(limits: Limits, isSuspect: (job: J) => boolean) {
    this.#limits = limits
    this.#isSuspect = isSuspect
  }

  get waiting(): number {
    return this.#waiting
  }

  get running(): number {
    return this.#running
  }

  /** Actors that have as much waiting as they can begin for a while. */
  get busyActors(): string[] {
    const enough = this.#limits.perActor * 2
    return [...this.#actors].filter(([, jobs]) => jobs.waiting.length >= enough).map(([actorId]) => actorId)
  }

  add(job: J): void {
    const jobs = this.#actors.get(job.actorId) ?? {
      waiting: [],
      running: 0,
      suspectsRunning: 0,
      runningByPeer: new Map<string, number>(),
    }
    this.#actors.set(job.actorId, jobs)
    jobs.waiting.push(job)
    this.#waiting += 1
  }

  /** Null when nothing may begin now. */
  take(): J | null {
    if (this.#waiting === 0 || this.#running >= this.#limits.running) return null
    for (const [actorId, jobs] of this.#actors) {
      const index = jobs.waiting.findIndex((job) => this.#mayBegin(job, jobs))
      if (index < 0) continue
      const [job] = jobs.waiting.splice(index, 1) as [J]
      this.#begin(job, jobs)
      // Its next turn comes after everybody else's.
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
    if (!this.#isSuspect(job)) return ofPeer < perPeer
    const allowed = Math.max(1, Math.floor(perActor / 2))
    const allowedInAll = Math.max(1, Math.floor(this.#limits.running / 2))
    return ofPeer === 0 && jobs.suspectsRunning < allowed && this.#suspects.size < allowedInAll
  }

  #begin(job: J, jobs: ActorJobs<J>): void {
    this.#waiting -= 1
    this.#running += 1
    jobs.running += 1
    count(this.#runningByHost, job.host, 1)
    count(jobs.runningByPeer, job.peerId, 1)
    if (!this.#isSuspect(job)) return
    this.#suspects.add(job)
    jobs.suspectsRunning += 1
  }

  /** A job that was taken has ended. */
  done(job: J): void {
    const jobs = this.#actors.get(job.actorId)
    if (jobs === undefined) return
    this.#running -= 1
    jobs.running -= 1
    count(this.#runningByHost, job.host, -1)
    count(jobs.runningByPeer, job.peerId, -1)
    if (this.#suspects.delete(job)) jobs.suspectsRunning -= 1
    if (jobs.running === 0 && jobs.waiting.length === 0) this.#actors.delete(job.actorId)
  }

  /** Takes those out that have not begun. */
  withdraw(isMeant: (job: J) => boolean): J[] {
    const withdrawn: J[] = []
    for (const [actorId, jobs] of this.#actors) {
      const kept = jobs.waiting.filter((job) => !isMeant(job))
      if (kept.length === jobs.waiting.length) continue
      withdrawn.push(...jobs.waiting.filter(isMeant))
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
