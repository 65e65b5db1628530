"""Commands that install or start the required programs on this platform."""

from __future__ import annotations

import shutil
import sys

_LINUX_PACKAGES = ("apt", "dnf", "pacman", "zypper")


def install_ollama() -> str:
    """Return the command from Ollama's download page.

    Ollama then starts by itself; with Homebrew, by the second command.
    """
    if sys.platform == "darwin":
        return "brew install ollama\nbrew services start ollama"
    if sys.platform == "win32":
        return "winget install --id Ollama.Ollama"
    return "curl -fsSL https://ollama.com/install.sh | sh"


def update_ollama() -> str:
    """Return the command that updates Ollama to the newest version."""
    if sys.platform == "darwin":
        return "brew upgrade ollama\nbrew services restart ollama"
    if sys.platform == "win32":
        return "winget upgrade --id Ollama.Ollama"
    return install_ollama()


def start_ollama() -> str:
    """Return the command that starts Ollama; empty if it is not installed."""
    return "ollama serve" if shutil.which("ollama") else ""


def install_tesseract() -> str:
    """Return the command that installs Tesseract with English; other languages are separate packages."""
    if sys.platform == "darwin":
        return "brew install tesseract tesseract-lang"
    if sys.platform == "win32":
        return "winget install --id UB-Mannheim.TesseractOCR"
    manager = next((name for name in _LINUX_PACKAGES if shutil.which(name)), "apt")
    return {
        "apt": "sudo apt install tesseract-ocr",
        "dnf": "sudo dnf install tesseract",
        "pacman": "sudo pacman -S tesseract tesseract-data-eng",
        "zypper": "sudo zypper install tesseract-ocr",
    }[manager]
