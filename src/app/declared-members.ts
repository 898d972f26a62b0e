/** The members of each kind of declaration. */
import type { TrustType } from '../permission/trust-types.ts'
import type { ActionMetadata, CompanionKind, MethodMetadata } from './declarations.ts'
import type { KindDeclaration } from './kinds/kind-declaration.ts'
import type { MembersOf } from './known-members.ts'
import type { PromptArgument, PromptDeclaration, ResourceDeclaration, ToolDeclaration } from './mcp-declarations.ts'
import type { ServiceDeclaration } from './service-declaration.ts'

const operation = {
  description: true,
  input: true,
  output: true,
  inputSchema: true,
  outputSchema: true,
  annotations: true,
  confirm: true,
  exclusive: true,
  mcp: true,
} as const
const actions: MembersOf<ActionMetadata> = operation
const methods: MembersOf<MethodMetadata> = operation
const tool: MembersOf<ToolDeclaration> = {
  name: true,
  title: true,
  description: true,
  inputSchema: true,
  output: true,
  annotations: true,
  icons: true,
  allowedClients: true,
  clientDescriptions: true,
  visible: true,
  describe: true,
  confirm: true,
  task: true,
}
const prompt: MembersOf<PromptDeclaration> = {
  name: true,
  title: true,
  description: true,
  arguments: true,
  icons: true,
}
const argument: MembersOf<PromptArgument> = {
  name: true,
  title: true,
  description: true,
  required: true,
  complete: true,
}
const resource: MembersOf<ResourceDeclaration> = {
  uri: true,
  name: true,
  title: true,
  description: true,
  mimeType: true,
  icons: true,
  complete: true,
}
const trustType: MembersOf<Omit<TrustType, 'membersOf'>> = {
  name: true,
  display_name: true,
  description: true,
  permissions: true,
  neverAutoApproved: true,
  needsConfirmation: true,
  forClients: true,
}
const companion: MembersOf<CompanionKind> = { factory: true, type: true, relationship: true }
const service: MembersOf<ServiceDeclaration> = {
  authorizationUrl: true,
  tokenUrl: true,
  clientId: true,
  clientSecret: true,
  scopes: true,
  revocationUrl: true,
  apiUrls: true,
  clientAuthentication: true,
  authorizationParameters: true,
  callback: true,
}

const kind: MembersOf<KindDeclaration> = {
  name: true,
  type: true,
  description: true,
  lists: true,
  properties: true,
  roles: true,
}

export const membersOf = { kind, actions, methods, tool, prompt, argument, resource, trustType, companion, service }
