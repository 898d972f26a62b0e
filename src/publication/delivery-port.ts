import type { Deliveries } from '../outbox/deliveries.ts'
import type { DeliveryWorker } from './worker.ts'

/** Stands for the worker until it is created: the rooms that write what is due come before it. */
export class DeliveryPort implements Deliveries {
  #worker: DeliveryWorker | null = null

  /** Once, while the service is put together and before its first request. */
  connect(worker: DeliveryWorker): void {
    if (this.#worker !== null) throw new Error('The delivery worker is connected already')
    this.#worker = worker
  }

  get worker(): DeliveryWorker {
    if (this.#worker === null) throw new Error('The delivery worker is not connected yet')
    return this.#worker
  }

  readonly wake = (): void => this.worker.wake()
  readonly firstAttempts: Deliveries['firstAttempts'] = (ids) => this.worker.firstAttempts(ids)
}
