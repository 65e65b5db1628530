"""Sentences of a document that instruct its reader, and so a language model, what to do or say.

They are text like any other and are kept, but a document that gives an instruction does not thereby state a fact, so an
answer that repeats one is not supported by it. Closed patterns for English, Korean and Chinese: a document can be
worded to evade them.
"""

from __future__ import annotations

import re

_INSTRUCTION = re.compile(
    r"\b(?:ignore|disregard|forget|override|bypass|drop)\b.{0,50}"
    r"\b(?:instructions?|prompts?|rules?|guidelines?|context|above|before|previous|everything|restrictions?)\b"
    r"|\b(?:new|real|actual|updated|following|secret|hidden) (?:instructions?|rules?|orders?|task)\b"
    r"|\b(?:system|developer) (?:prompt|message|note|override|mode)\b"
    r"|\b(?:you are|act as|pretend to be)\b.{0,40}\b(?:ai|assistant|model|chatbot|bot|unrestricted|dan)\b"
    r"|\b(?:as an? |dear |attention,? |note to (?:the |any |all )?)"
    r"(?:ai|assistants?|(?:language )?models?|llms?|chatbots?)\b"
    r"|(?:^|[.!?:;,\"“(*]\s*|\b(?:must|should|please|always|now|then|and|to|you|instead)\s+)"
    r"(?:say|reply|respond|answer|output|print|repeat|write|insert|append|add|tell (?:the |them|him|her|your )\w*)"
    r"\b.{0,40}(?:\bonly\b|\bexactly\b|\bwith\b|\bthe following\b|\bverbatim\b|\bthat\b|:|[\"“‘'])"
    r"|\[/?inst\]|<\|?/?(?:system|im_start|im_end|instructions?|knowledge|passage)\b"
    r"|^\s*#*\s*(?:system|assistant)\s*:"
    r"|(?:지시|명령|규칙|프롬프트|지침).{0,12}(?:무시하(?:고 (?:다음|이렇게)|라|세요|십시오|시오)|잊으|따르지 마)"
    r"|(?:라고|다음을|그대로|이렇게).{0,6}(?:답(?:변)?|말|출력|응답)(?:하라|하세요|하십시오|하시오|해 ?(?:줘|라|주))"
    r"|시스템 (?:프롬프트|메시지)"
    r"|(?:忽略|无视|無視|忘记|忘記|不要理会|不要理會).{0,16}(?:指令|指示|规则|規則|提示|说明|說明|内容|內容)"
    r"|(?:请|請|必须|必須|你要|只能?)(?:回答|回复|回覆|输出|輸出|写上|寫上|告诉用户|告訴使用者)[：:“「]|系统提示|系統提示",
    re.IGNORECASE,
)


def instructs(sentence: str) -> bool:
    """Return whether a sentence addresses the answering model instead of stating something."""
    return bool(_INSTRUCTION.search(sentence[:2000]))
