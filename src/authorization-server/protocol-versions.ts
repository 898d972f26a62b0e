/** The one list of protocol versions, which the endpoint for AI clients and the documents about it name alike. */
export const supportedVersionTexts = ['2026-07-28', '2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'] as const
