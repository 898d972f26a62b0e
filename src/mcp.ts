/** `troupe/mcp`: the types that handlers and declarations need for AI clients. */
export { McpFailure } from './mcp/protocol/failure.ts'
export type { MethodInput } from './app/method-input.ts'
export type {
  ClientInfo,
  Completer,
  FormAnswer,
  FormQuestion,
  Icon,
  McpCall,
  McpContext,
  MethodMcp,
  PromptArgument,
  PromptDeclaration,
  ResourceDeclaration,
  ToolDeclaration,
} from './app/mcp-declarations.ts'
