/** The tools, prompts and resources that an application declares for AI clients. */
import { present } from '../../json/present.ts'
import type { DeclaredOperation, Registry } from '../../app/registry.ts'
import { ConfigError, problemIn } from '../../config/config-error.ts'
import type { Icon, PromptDeclaration, ResourceDeclaration, ToolDeclaration } from '../../app/mcp-declarations.ts'
import { isOfMethod } from '../../app/mcp-input.ts'
import {
  type DeclaredSchema,
  inputSchema,
  type JsonSchema,
  outputSchema,
  type Schema,
  schemaFault,
} from '../../app/schema.ts'
import { UriTemplate } from '../../app/uri-template.ts'
import { propertiesUri } from '../../permission/property-address.ts'
import { headerParameters, type HeaderParameter } from './header-parameters.ts'

export interface Tool {
  readonly name: string
  readonly declaration: ToolDeclaration
  readonly operation: DeclaredOperation
  readonly description: string
  readonly inputSchema: JsonSchema
  readonly check: Schema
  readonly outputSchema: JsonSchema | null
  readonly checkOutput: Schema | null
  /** Arguments that clients mirror in header fields. */
  readonly headers: readonly HeaderParameter[]
  readonly needsApproval: boolean
}

export interface Prompt {
  readonly name: string
  readonly needsApproval: boolean
  readonly declaration: PromptDeclaration
  readonly operation: DeclaredOperation
  readonly description: string
}

export interface Resource {
  readonly template: UriTemplate
  readonly declaration: ResourceDeclaration
  readonly operation: DeclaredOperation
  readonly name: string
  readonly description: string
  readonly mimeType: string
  readonly needsApproval: boolean
}

export interface Catalogue {
  readonly tools: ReadonlyMap<string, Tool>
  readonly prompts: ReadonlyMap<string, Prompt>
  readonly resources: readonly Resource[]
}

const noArguments = { type: 'object', additionalProperties: false } as const
const anyArguments = { type: 'object' } as const

/** @throws ConfigError for a declaration that the protocol cannot express. */
export function catalogueOf(registry: Registry): Catalogue {
  const tools = new Map<string, Tool>()
  const prompts = new Map<string, Prompt>()
  const resources: Resource[] = []
  for (const operation of registry.declared('actions')) {
    const tool = toolOf(operation)
    const needsApproval = registry.needsApproval('actions', operation.name)
    if (tool !== null) addOnce(tools, { ...tool, needsApproval }, 'tools')
  }
  for (const operation of registry.declared('methods')) {
    const needsApproval = registry.needsApproval('methods', operation.name)
    const prompt = promptOf(operation)
    if (prompt !== null) addOnce(prompts, { ...prompt, needsApproval }, 'prompts')
    const resource = resourceOf(operation)
    if (resource !== null) resources.push({ ...resource, needsApproval })
  }
  return { tools, prompts, resources }
}

/** @throws ConfigError when a tool has a schema of its own with a pattern that can take long. */
export async function requireLinearTools({ tools }: Catalogue): Promise<void> {
  for (const { name, check, checkOutput } of tools.values())
    for (const [side, schema] of [['input', check] as const, ['output', checkOutput] as const])
      await schema?.requireLinear().catch((error: unknown) => {
        throw new ConfigError(`Cannot declare the tool ${JSON.stringify(name)}: its ${side} ${schemaFault(error)}.`)
      })
}

function toolOf(operation: DeclaredOperation): Omit<Tool, 'needsApproval'> | null {
  const mcp = operation.metadata?.mcp
  if (mcp === undefined || isOfMethod(mcp)) return null
  const declaration = mcp === true ? {} : mcp
  const name = declaration.name ?? operation.name
  if (!/^[A-Za-z0-9_.-]{1,64}$/.test(name)) {
    throw new ConfigError(
      `Invalid tool name ${JSON.stringify(name)}: expected 1 to 64 letters, digits, "_", "." or "-". Set mcp.name.`,
    )
  }
  const input = inputOf(operation, declaration)
  if (input.inputSchema['type'] !== 'object')
    throw new ConfigError(`The input of the tool ${JSON.stringify(name)} must be an object.`)
  const checkOutput = outputOf(name, declaration.output)
  return {
    name,
    declaration,
    operation,
    description: declaration.description ?? operation.metadata?.description ?? `Execute ${operation.name} action`,
    ...input,
    outputSchema: checkOutput?.jsonSchema ?? null,
    checkOutput,
    headers: headerParameters(name, input.inputSchema),
  }
}

/** The schema of the tool overrides the schema of the action. An action without a schema accepts any arguments. */
function inputOf({ metadata, input }: DeclaredOperation, own: ToolDeclaration): Pick<Tool, 'inputSchema' | 'check'> {
  const declared = own.inputSchema ?? metadata?.inputSchema ?? input?.jsonSchema
  const published = declared ?? (input === null ? anyArguments : noArguments)
  return {
    inputSchema: published,
    check: own.inputSchema === undefined && input !== null ? input : inputSchema(published),
  }
}

function outputOf(name: string, output: DeclaredSchema | undefined): Schema | null {
  try {
    return output === undefined ? null : outputSchema(output)
  } catch (error) {
    throw new ConfigError(
      `Cannot publish the output of the tool ${JSON.stringify(name)} as JSON Schema: ${problemIn(error)}. Declare it as JSON Schema.`,
    )
  }
}

function promptOf(operation: DeclaredOperation): Omit<Prompt, 'needsApproval'> | null {
  const mcp = operation.metadata?.mcp
  if (mcp === undefined || !isOfMethod(mcp) || mcp.prompt === undefined) return null
  const declaration = mcp.prompt === true ? {} : mcp.prompt
  return {
    name: declaration.name ?? operation.name,
    declaration,
    operation,
    description: declaration.description ?? operation.metadata?.description ?? `Generate prompt for ${operation.name}`,
  }
}

function resourceOf(operation: DeclaredOperation): Omit<Resource, 'needsApproval'> | null {
  const mcp = operation.metadata?.mcp
  if (mcp === undefined || !isOfMethod(mcp) || mcp.resource === undefined) return null
  const declaration = mcp.resource === true ? {} : mcp.resource
  const uri = declaration.uri ?? `actingweb://${operation.name}`
  if (uri.startsWith(propertiesUri)) {
    throw new Error(
      `Cannot declare the resource ${JSON.stringify(uri)}: ${propertiesUri} is reserved for the properties of the actor`,
    )
  }
  return {
    template: new UriTemplate(uri),
    declaration,
    operation,
    name: declaration.name ?? titleOf(operation.name),
    description: declaration.description ?? operation.metadata?.description ?? `Access ${operation.name} resource`,
    mimeType: declaration.mimeType ?? 'application/json',
  }
}

function titleOf(name: string): string {
  return name.replaceAll('_', ' ').replaceAll(/\b[a-z]/g, (letter) => letter.toUpperCase())
}

function addOnce<T extends { readonly name: string }>(all: Map<string, T>, item: T, kind: string): void {
  if (all.has(item.name))
    throw new ConfigError(
      `Two ${kind} have the name ${JSON.stringify(item.name)}: set another mcp.name for one of them.`,
    )
  all.set(item.name, item)
}

/** The title and icons of a tool, prompt or resource. */
export function displayMetadata(declaration: { readonly title?: string; readonly icons?: readonly Icon[] }): object {
  const { title, icons } = declaration
  return present({ title, icons })
}
