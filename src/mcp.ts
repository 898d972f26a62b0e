/** `troupe/mcp`: what handlers need for AI clients besides their declarations. */
export { McpFailure, type McpFailureKind } from './mcp/protocol/failure.ts'
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
