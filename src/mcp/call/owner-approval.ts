/** Runs calls that need the owner's approval. The client opens the approval URL, or shows it to its user. */
import { type ApprovalAnswer, type Called, type CallInput, heldBecause } from '../../operation/approvals.ts'
import type { ApprovalOutcome, InFlightCall } from './call.ts'
import { McpFailure } from '../protocol/failure.ts'
import type { McpDeps } from '../deps.ts'
import type { McpResult } from '../protocol/result.ts'
import { modernRevision } from '../protocol/revisions.ts'
import { opensAddresses, InputRequiredError } from './input-required.ts'

export interface ApprovalCall extends Called, CallInput {
  /** The result for a client that cannot open a URL, and for a call that the owner denied. */
  readonly refused: (text: string) => McpResult
}

/** The decision in the audit log. Null for a call that runs. */
const heldBack: Readonly<Record<ApprovalAnswer['answer'], ApprovalOutcome['as']>> = {
  granted: null,
  waiting: { decision: 'asked', reason: heldBecause.waiting },
  denied: { decision: 'refused', reason: heldBecause.denied },
  unseen: { decision: 'refused', reason: heldBecause.unseen },
}

/** Runs the call when the owner has approved exactly this call. Until then, the client receives the approval URL. */
export async function whenApproved(
  deps: McpDeps,
  call: InFlightCall,
  { kind, name, given, input, refused }: ApprovalCall,
  run: () => Promise<McpResult>,
): Promise<McpResult> {
  const verdict = await deps.approvals.ask(call.access, { kind, name }, { given, input })
  call.held.as = heldBack[verdict.answer]
  switch (verdict.answer) {
    case 'granted':
      try {
        return await run()
      } catch (error) {
        if (error instanceof InputRequiredError) await deps.approvals.giveBack(call.access, verdict)
        throw error
      }
    case 'denied':
      return refused('The owner refused this call.')
    case 'unseen':
      return refused('The owner must approve this call, but its arguments are too long to review.')
    case 'waiting': {
      const { approvalId, url } = verdict
      const message = `The owner must approve this call of ${name}`
      if (opensAddresses(call.client.capabilities)) {
        if (call.revision === modernRevision)
          throw new InputRequiredError({ owner_approval: { open: { message, url } } })
        throw new McpFailure('url_elicitation', message, {
          elicitations: [{ mode: 'url', elicitationId: approvalId, message, url }],
        })
      }
      return refused(`${message} at ${url}. Ask the owner to open this URL, then repeat the same call.`)
    }
    default:
      return verdict satisfies never
  }
}

/** For methods whose result cannot carry a refusal. */
export function refusedCall(text: string): never {
  throw new McpFailure('not_permitted', text)
}
