/** Changes of who operates the service. The own audit log of the operator shows them, and the log of the service. */
import type { AuditLog } from '../audit-log/audit-log.ts'
import { ServiceError } from '../errors.ts'
import type { Log } from '../observe/log.ts'
import type { FirstOperator } from '../sign-in/operators/first-operator.ts'
import { type Operator, type Operators, parseOperator } from '../sign-in/operators/operators.ts'
import { actEntryOf } from './act-entry.ts'

export interface OperatorActsDeps {
  readonly operators: Operators
  readonly firstOperator: FirstOperator
  readonly auditLog: Pick<AuditLog, 'record'>
  readonly log: Log
}

interface By extends Operator {
  /** Device of the operator, such as `Firefox on Linux`. */
  readonly device: string
}

export class OperatorActs {
  readonly #deps: OperatorActsDeps

  constructor(deps: OperatorActsDeps) {
    this.#deps = deps
  }

  /** @throws ServiceError `bad_request` for a name that no sign-in can prove, `conflict` for a known one. */
  async add(text: string, by: By): Promise<void> {
    const name = parseOperator(text.trim())
    if (name === null)
      throw new ServiceError(
        'bad_request',
        'Cannot add the operator: expected a verified address, a provider id such as google:1234, or the fingerprint of a passkey such as passkey:u3V…',
        { field: 'name' },
      )
    await this.#deps.operators.add(name, by.name)
    this.#record('An operator was added', name, by)
  }

  /** @throws ServiceError `not_found`, `conflict` for the last operator. */
  async remove(name: string, by: By): Promise<void> {
    await this.#deps.operators.remove(name)
    this.#record('An operator was removed', name, by)
  }

  /** Makes the sign-in of the person with the link the first operator. @throws ServiceError `gone` */
  async begin(code: string, by: By): Promise<void> {
    await this.#deps.firstOperator.become(code, by.name)
    this.#record('The first operator was added', by.name, by)
  }

  #record(message: string, operator: string, by: By): void {
    const { auditLog, log } = this.#deps
    const act = { operator: by.name, device: by.device }
    auditLog.record({ ...actEntryOf(by.actorId, act), method: 'POST', path: '/admin/operators' })
    log.info({ operator, by: by.name }, message)
  }
}
