/** `prompts/get`: runs a method of the application that is declared as a prompt. */
import { own } from '../../json/json.ts'
import { quoted } from '../../errors.ts'
import { publishedSchema } from '../../app/registry.ts'
import { handlerResult } from '../../app/handler-result.ts'
import { toPlain } from '../../json/json.ts'
import { requireDeclared } from '../../operation/declared-members.ts'
import type { McpRequest, InFlightCall } from '../call/call.ts'
import type { Prompt } from '../catalogue/catalogue.ts'
import { McpFailure } from '../protocol/failure.ts'
import type { McpDeps } from '../deps.ts'
import { isRecord } from '../protocol/message.ts'
import { refusedCall, whenApproved } from '../call/owner-approval.ts'
import { complete, type McpResult } from '../protocol/result.ts'
import { withoutSecrets } from '../call/tool-result.ts'
import { reportingErrors, runOperation } from '../call/run-operation.ts'

export async function getPrompt(deps: McpDeps, call: InFlightCall): Promise<McpResult> {
  const { name, arguments: given = {} } = call.params
  if (typeof name !== 'string' || name === '')
    throw new McpFailure('invalid_params', 'Cannot get a prompt: "name" is missing')
  const prompt = await requirePrompt(deps, call, name)
  const args = given ?? {}
  if (!isRecord(args) || Object.values(args).some((value) => typeof value !== 'string')) {
    throw new McpFailure('invalid_params', 'Cannot get a prompt: "arguments" must contain only strings')
  }
  const missing = prompt.declaration.arguments?.find(
    (argument) => argument.required === true && own(args, argument.name) === undefined,
  )
  if (missing !== undefined)
    throw new McpFailure('invalid_params', `The argument ${JSON.stringify(missing.name)} is missing`)
  const { operation } = prompt
  const input = operation.input === null ? args : await operation.input.check(args)
  const run = (): Promise<McpResult> => runPrompt(deps, call, prompt, input)
  if (!prompt.needsApproval) return run()
  requireDeclared(publishedSchema(operation), args)
  return whenApproved(deps, call, { kind: 'prompts', name, given: args, input, refused: refusedCall }, run)
}

async function runPrompt(
  deps: McpDeps,
  call: InFlightCall,
  { operation, description }: Prompt,
  input: unknown,
): Promise<McpResult> {
  const value: unknown = await reportingErrors(deps, async () =>
    toPlain(handlerResult((await runOperation(deps, call, operation, input)) ?? null)),
  )
  return complete({ description, messages: messagesOf(value) })
}

/** The right is checked first, so that a client without it does not learn whether the prompt exists. */
export async function requirePrompt(deps: McpDeps, call: McpRequest, name: string): Promise<Prompt> {
  const { actor, caller } = call.access
  const verdict = await deps.permission.may(actor.id, caller, { category: 'prompts', right: 'read', target: name })
  if (!verdict.allowed)
    throw new McpFailure('not_permitted', `These credentials may not use the prompt ${quoted(name)}`)
  deps.permission.decided(caller, verdict)
  const prompt = deps.catalogues.of(actor).prompts.get(name)
  if (prompt === undefined) throw new McpFailure('unknown_prompt', `Unknown prompt ${quoted(name)}`)
  return prompt
}

function messagesOf(value: unknown): readonly unknown[] {
  if (isRecord(value) && Array.isArray(value['messages'])) return value['messages']
  const prompt = isRecord(value) && typeof value['prompt'] === 'string' ? value['prompt'] : value
  const text = typeof prompt === 'string' ? prompt : JSON.stringify(withoutSecrets(prompt))
  return [{ role: 'user', content: { type: 'text', text } }]
}
