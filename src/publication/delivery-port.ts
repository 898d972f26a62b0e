import type { Deliveries } from '../outbox/deliveries.ts'
import type { DeliveryWorker } from './worker.ts'

/** Represents the worker before it exists, because the rooms that write due messages are created before it. */
export class DeliveryPort implements Deliveries {
  #worker: DeliveryWorker | null = null

  /** Sets the worker, once, while the service is assembled. */
  connect(worker: DeliveryWorker): void {
    if (this.#worker !== null) throw new Error('Cannot connect the delivery worker: it is already connected')
    this.#worker = worker
  }

  get worker(): DeliveryWorker {
    if (this.#worker === null) throw new Error('Cannot use the delivery worker: it is not connected yet')
    return this.#worker
  }

  readonly wake: Deliveries['wake'] = (...actorIds) => this.worker.wake(...actorIds)
  readonly firstAttempts: Deliveries['firstAttempts'] = (notices) => this.worker.firstAttempts(notices)
}
