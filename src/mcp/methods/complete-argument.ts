/** `completion/complete`: suggests values for arguments of prompts and variables of resource templates. */
import { own } from '../../json/json.ts'
import type { Completer } from '../../app/mcp-declarations.ts'
import type { InFlightCall } from '../call/call.ts'
import { reportingErrors } from '../call/run-operation.ts'
import { McpFailure } from '../protocol/failure.ts'
import type { McpDeps } from '../deps.ts'
import { isRecord, type MessageParams } from '../protocol/message.ts'
import { requirePrompt } from './get-prompt.ts'
import { complete, type McpResult } from '../protocol/result.ts'

const maxValues = 100

export async function completeArgument(deps: McpDeps, call: InFlightCall): Promise<McpResult> {
  const { ref, argument, context } = call.params
  if (!isRecord(ref) || !isRecord(argument)) throw unclear()
  const { name, value } = argument
  if (typeof name !== 'string' || typeof value !== 'string') throw unclear()
  const completer = await completerOf(deps, call, ref, name)
  const { actor, caller } = call.access
  const given = isRecord(context) && isRecord(context['arguments']) ? context['arguments'] : {}
  const texts = Object.entries(given).filter((entry): entry is [string, string] => typeof entry[1] === 'string')
  const known = Object.fromEntries(texts)
  const proposed =
    completer === undefined
      ? []
      : await reportingErrors(deps, () => completer({ actor: deps.handleOf(actor), caller, value, known }))
  return complete({
    completion: {
      values: proposed.slice(0, maxValues),
      total: proposed.length,
      hasMore: proposed.length > maxValues,
    },
  })
}

async function completerOf(
  deps: McpDeps,
  call: InFlightCall,
  ref: MessageParams,
  name: string,
): Promise<Completer | undefined> {
  if (ref['type'] === 'ref/prompt' && typeof ref['name'] === 'string') {
    const prompt = await requirePrompt(deps, call, ref['name'])
    return prompt.declaration.arguments?.find((argument) => argument.name === name)?.complete
  }
  if (ref['type'] === 'ref/resource' && typeof ref['uri'] === 'string') {
    const { uri } = ref
    const { actor, caller } = call.access
    const verdict = await deps.permission.may(actor.id, caller, { category: 'resources', right: 'read', target: uri })
    if (!verdict.allowed) throw new McpFailure('not_permitted', 'These credentials may not read the resource')
    const resource = deps.catalogues.of(actor).resources.find(({ template }) => template.text === uri)
    if (resource === undefined) throw new McpFailure('unknown_resource', 'Resource not found', { uri })
    return own(resource.declaration.complete ?? {}, name)
  }
  throw unclear()
}

function unclear(): McpFailure {
  return new McpFailure(
    'invalid_params',
    'Cannot complete: "ref" must name a prompt or a resource, and "argument" must have a name and a value',
  )
}
