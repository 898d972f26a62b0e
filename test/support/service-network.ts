/** Connects services of one process by their base URLs, without sockets. Tests can hold, lose or refuse calls. */
import { type Answers, callInProcess } from '../../src/peer/in-process-call.ts'
import type { PeerClient, PeerOutcome, PeerRequest } from '../../src/peer/peer-client.ts'
import type { TestService } from './service.ts'

/**
 * `lost`: the call has its effect, and the answer does not arrive. `repeated`: the call has its effect twice, as behind proxies
 * that send a request again, and the first answer arrives.
 */
export type CallFate = 'arrives' | 'lost' | 'repeated' | 'unreached'

export class ServiceNetwork implements PeerClient {
  readonly #services = new Map<string, Answers>()
  /** The method and URL of each call. */
  readonly calls: string[] = []
  /** Decides the fate of each call. */
  fate: (request: PeerRequest) => CallFate | Promise<CallFate> = () => 'arrives'

  /** Routes calls to the base URL of the service to it, also in the place of an earlier one. */
  add(service: TestService): void {
    this.serve(service.url, (request) => service.app.fetch(request))
  }

  serve(url: string, answers: Answers): void {
    this.#services.set(url, answers)
  }

  /** Nothing answers at the URL any longer. */
  remove(url: string): void {
    this.#services.delete(url)
  }

  async call(request: PeerRequest): Promise<PeerOutcome> {
    this.calls.push(`${request.method} ${request.url}`)
    const fate = await this.fate(request)
    const url = new URL(request.url)
    const answers = this.#services.get(url.origin)
    if (answers === undefined || fate === 'unreached') return { kind: 'unreached', reason: 'Nothing listens there' }
    if (fate === 'repeated') {
      const { stream, ...head } = request
      const whole = stream === undefined ? head : { ...head, body: Buffer.concat(await Array.fromAsync(stream)) }
      const first = await callInProcess(answers, whole, url)
      await callInProcess(answers, whole, url)
      return first
    }
    const outcome = await callInProcess(answers, request, url)
    return fate === 'lost' ? { kind: 'unknown', reason: 'The connection broke' } : outcome
  }

  /** Whether a call was made whose method and URL match. */
  saw(pattern: RegExp): boolean {
    return this.calls.some((call) => pattern.test(call))
  }

  async close(): Promise<void> {}
}
