/** `troupe/mcp`: the types that handlers and declarations need for AI clients. */
export { McpFailure, type McpFailureKind } from './mcp/protocol/failure.ts'
export type { MethodInput } from './app/method-input.ts'
export type {
  ClientInfo,
  ClientQuestion,
  ClientType,
  Completer,
  FormAnswer,
  FormQuestion,
  Icon,
  LogLevel,
  McpCall,
  McpContext,
  MethodMcp,
  PromptArgument,
  PromptDeclaration,
  ResourceDeclaration,
  ToolAudience,
  ToolDeclaration,
} from './app/mcp-declarations.ts'
