/**
 * Troupe: an actor service that speaks the ActingWeb protocol.
 *
 * @example
 * ```ts
 * import { troupe } from 'troupe'
 * import { z } from 'zod'
 *
 * const app = troupe({ type: 'urn:actingweb:example.com:notes', name: 'notes' })
 * app.action('add_note', { input: z.object({ text: z.string() }) }, async ({ actor, input }) => ({
 *   index: await actor.list('notes').append(input),
 * }))
 * export default app // serve it with `troupe dev app.ts`, or embed it with `app.fetch`
 * ```
 */
// Features add members to the handle of an actor.
import './handles.ts'
export {
  type ActorsApi,
  App,
  type ClientsApi,
  type CreatedActor,
  type Seed,
  troupe,
  type TroupeOptions,
} from './troupe.ts'
export { type NodeHandler, toNodeHandler } from './node-handler.ts'
export { ServiceError, type ErrorCode } from './errors.ts'
export { google } from './sign-in/providers/google.ts'
export { github } from './sign-in/providers/github.ts'
export { apple } from './sign-in/providers/apple.ts'
export { openid } from './sign-in/providers/openid.ts'
export { passkey } from './sign-in/passkey/passkey-plan.ts'
export { emailLink } from './sign-in/email-link/email-link.ts'
export type { ProviderDeclaration } from './sign-in/providers/settings.ts'
export { ConfigError } from './config/config.ts'
export { StoreStartError } from './store/start-error.ts'
export { ListenError, type Listening } from './http/edge/server.ts'
export type { NewActor } from './actor/actors.ts'
export type { ActorHandle, TransactionHandle } from './app/actor-handle.ts'
export type { Authenticate, HostUser } from './app/embedding/authenticate.ts'
export type { BegunSession, HostRequest, RequestCaller, SessionsApi } from './app/embedding/sessions.ts'
export type { ServiceDeclaration } from './app/service-declaration.ts'
export type {
  AppCallbackCall,
  AppCallbackHandler,
  BotCall,
  BotHandler,
  CallbackCall,
  CallbackHandler,
  Call,
  CompanionKind,
  EventHandler,
  Events,
  ExclusiveHandler,
  Handler,
  HandlerResult,
  OperationMetadata,
  PageCall,
  PageHandler,
  PropertyAccess,
  PropertyHook,
  PropertyHooks,
  ResourceHandler,
  ResultFor,
  SubscriptionCall,
  SubscriptionData,
  SubscriptionDataHandler,
  SubscriptionHandler,
  TrustEvent,
} from './app/declarations.ts'
export type { DeclaredList, DeclaredProperty, ListDeclaration, PropertyDeclaration } from './app/data-declarations.ts'
export type { ActorDeclarations } from './app/kinds/actor-declarations.ts'
export type { GroupHandle } from './app/kinds/group-handle.ts'
export type { Kind, NewOfKind } from './app/kinds/kind.ts'
export type { KindDeclaration } from './app/kinds/kind-declaration.ts'
export type { RoleDeclaration, RoleRights } from './app/kinds/roles.ts'
export type { DeclaredSchema, InferData, InferInput, InferOutput, JsonSchema } from './app/schema.ts'
export { PeerRefused, PeerTimeout, PeerUnreachable } from './app/peer-errors.ts'
export type { AlarmDeclaration, DeclaredAlarm } from './app/background/alarms.ts'
export type {
  AlarmCall,
  AlarmHandler,
  FileChanged,
  ListChanged,
  PropertyChanged,
  ScheduleCall,
} from './app/background/background.ts'
export type { Caller } from './caller.ts'
export type { CallLog } from './observe/call-log.ts'
export type { Json } from './json/json.ts'
export type { Rules } from './permission/rules.ts'
export type { TrustType } from './permission/trust-types.ts'
/** A template tag for the pages of an application. It escapes every inserted value. @public */
export { html } from 'hono/html'
